import Bluetooth
package import Foundation
import Store

/// A client of the running service: HTTP over its Unix socket. One request per connection.
package struct ServiceSocket: Sendable {
    /// The time limit for a response in seconds.
    private let limitSeconds: Int
    /// The maximum length in bytes of a response that is kept in memory.
    private static let limit = 1 << 20

    package let path: String
    /// Returns advice for a problem code.
    private let advice: @Sendable (_ code: String) -> String?

    package init(
        path: String, limitSeconds: Int = 40, advice: @escaping @Sendable (_ code: String) -> String? = { _ in nil }
    ) {
        (self.path, self.limitSeconds, self.advice) = (path, limitSeconds, advice)
    }

    /// The sockets of other services on this machine that this user can access. Each service has 2 s to respond.
    /// - Parameter store: the caller's store.
    package static func others(besides store: String) -> [ServiceSocket] {
        let callerPaths = [listeningPath(forStore: store), path(forStore: store)]
        let folders = Set([systemFolder, (file(forStore: store, "sock") as NSString).deletingLastPathComponent])
        return folders.sorted().flatMap { folder in
            ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted()
                .filter { $0.hasPrefix("waterh-") && $0.hasSuffix(".sock") && $0 != "waterh-emulator.sock" }.map {
                    "\(folder)/\($0)"
                }
        }.filter { !callerPaths.contains($0) }.map { ServiceSocket(path: $0, limitSeconds: 2) }
    }

    /// The socket directory of a system service (`RuntimeDirectory` of its unit).
    private static let systemFolder = "/run/waterh"

    /// The path of the socket on which a service of this process listens: in systemd's directory, else in the user's.
    package static func listeningPath(forStore store: String) -> String {
        Paths.serviceFolder.map { $0 + "/" + name(store, "sock") } ?? file(forStore: store, "sock")
    }

    /// The path of the socket for requests about a store: that of this user's service, else of the system service.
    package static func path(forStore store: String) -> String {
        let (own, system) = (listeningPath(forStore: store), systemFolder + "/" + name(store, "sock"))
        return access(own, F_OK) != 0 && access(system, F_OK) == 0 ? system : own
    }

    /// The path of a file in the user's session directory that belongs to a store.
    /// - Parameter kind: the suffix of its name.
    package static func file(forStore store: String, _ kind: String) -> String { Paths.runtimeFile(name(store, kind)) }

    private static func name(_ store: String, _ kind: String) -> String {
        let url = URL(fileURLWithPath: store).standardizedFileURL.resolvingSymlinksInPath()
        // The name contains the FNV-1a hash of the store's path.
        let hash = url.path.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        return "waterh-\(String(hash, radix: 36)).\(kind)"
    }

    package var isAnswering: Bool {
        guard let descriptor = try? open() else { return false }
        close(descriptor)
        return true
    }

    /// Sends a POST request with JSON and returns the response.
    /// - Parameter source: the interface of the user's action: `dbus` or `notification`.
    /// - Throws: `CommandFailure`, also for an error response.
    package func post(_ target: String, _ body: JSONValue = [:], source: String? = nil) throws -> Data {
        let header = source.map { "Waterh-Surface: \($0)\r\n" } ?? ""
        return try response(
            "POST \(target)",
            "\(header)Content-Type: application/json\r\nContent-Length: \(body.text.utf8.count)\r\n\r\n\(body.text)")
    }

    package func get(_ target: String) throws -> Data { try response("GET \(target)", "\r\n") }

    /// Requests a file and writes it to `file`. Throws if the response is incomplete.
    package func get(_ target: String, to file: FileHandle) throws {
        try request("GET \(target)", "\r\n") { bytes in
            do { try file.write(contentsOf: bytes) } catch {
                throw CommandFailure(
                    .failed, "storing the response failed: \(FileErrorText.text(error))",
                    advice: "Set TMPDIR to a directory with free space.", code: "noScratch")
            }
        }
    }

    private func response(_ route: String, _ rest: String) throws -> Data {
        var answer = Data()
        try request(route, rest) {
            answer += $0
            if answer.count > Self.limit { throw noResponse }
        }
        return answer
    }

    private func request(_ route: String, _ rest: String, _ process: ([UInt8]) throws -> Void) throws {
        let descriptor = try open()
        defer { close(descriptor) }
        try exchange(on: descriptor, route, "Connection: close\r\n\(rest)", process)
    }

    /// Sends a request, and passes the body of the response to `process` in pieces.
    func exchange(on descriptor: Int32, _ route: String, _ rest: String, _ process: ([UInt8]) throws -> Void) throws {
        var request = Array("\(route) HTTP/1.1\r\nHost: localhost\r\n\(rest)".utf8)[...]
        while !request.isEmpty {
            let count = request.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { throw noResponse }
            request = request.dropFirst(count)
        }
        var reader = HTTPResponseReader()
        var problem = Data()
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while !reader.isComplete, problem.count <= Self.limit {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0, let body = try? reader.read(buffer[..<count]) else { throw noResponse }
            if reader.isSuccess { try process(body) } else { problem += body }
        }
        guard reader.isSuccess else {
            let problem = try? JSONDecoder().decode(Refused.self, from: problem)
            let status = reader.status ?? 0
            throw CommandFailure(
                status < 500 ? .refused : .failed,
                problem?.detail ?? "The service responded with HTTP status \(status).",
                advice: problem?.code.flatMap(advice), code: problem?.code)
        }
    }

    private struct Refused: Decodable {
        var detail: String
        var code: String?
    }

    var noResponse: CommandFailure {
        CommandFailure(
            .failed, "The service at \(path) did not respond.",
            advice: "It might be starting or stopping. Try again in a moment.", code: "noAnswer")
    }

    func open() throws -> Int32 {
        guard let descriptor = try? UnixSocket(path: path, kind: .stream).connect(limit: limitSeconds) else {
            throw noService
        }
        guard let peer = Self.peer(of: descriptor), mightBeService(peer) else {
            close(descriptor)
            throw notTheService
        }
        return descriptor
    }

    /// The user ID of the process that listens.
    private static func peer(of descriptor: Int32) -> uid_t? {
        // struct ucred: process, user, group.
        var credentials = [UInt32](repeating: .max, count: 3)
        var size = socklen_t(MemoryLayout<UInt32>.stride * credentials.count)
        guard getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0, size == 12 else { return nil }
        return credentials[1]
    }

    /// Whether a service can run as this user: the caller's user, root, or the only user who can write the directory.
    func mightBeService(_ user: uid_t) -> Bool {
        if user == geteuid() || user == 0 { return true }
        var folder = stat()
        guard stat((path as NSString).deletingLastPathComponent, &folder) == 0 else { return false }
        return folder.st_uid == user && folder.st_mode & 0o022 == 0
    }

    private var notTheService: CommandFailure {
        CommandFailure(
            .failed, "Another user's program listens at \(path): nothing was sent.",
            advice: "Show its owner: ls -l \(path)", code: "notTheService")
    }

    private var noService: CommandFailure {
        CommandFailure(
            .failed, "No service is running for this store (nothing listens at \(path)).",
            advice: "Start it with: waterh-gateway run", code: "noService")
    }
}
