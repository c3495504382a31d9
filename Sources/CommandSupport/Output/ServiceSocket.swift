import Foundation

/// A client of the running service: HTTP over its Unix socket. One request per connection.
package struct ServiceSocket: Sendable {
    /// The time limit for a response in seconds.
    private let limitSeconds: Int
    /// The maximum length of a response in bytes.
    private static let limit = 1 << 20

    package let path: String
    /// Returns advice for a problem code.
    private let advice: @Sendable (_ code: String) -> String?

    /// - Parameter advice: returns advice for a problem code.
    package init(
        path: String, limitSeconds: Int = 40, advice: @escaping @Sendable (_ code: String) -> String? = { _ in nil }
    ) {
        (self.path, self.limitSeconds, self.advice) = (path, limitSeconds, advice)
    }

    /// The sockets of the other services on this machine that this user can access. Each has 2 s to respond.
    /// - Parameter store: the caller's store.
    package static func others(besides store: String) -> [ServiceSocket] {
        let own = [own(forStore: store).path, path(forStore: store)]
        let folders = Set([systemFolder, (file(forStore: store, "sock") as NSString).deletingLastPathComponent])
        return folders.sorted().flatMap { folder in
            ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted()
                .filter { $0.hasPrefix("waterh-") && $0.hasSuffix(".sock") && $0 != "waterh-emulator.sock" }.map {
                    "\(folder)/\($0)"
                }
        }.filter { !own.contains($0) }.map { ServiceSocket(path: $0, limitSeconds: 2) }
    }

    /// The socket directory of a system service (`RuntimeDirectory` of its unit).
    private static let systemFolder = "/run/waterh"

    /// The socket on which the service of a store listens: in systemd's directory, else in the user's; one per store.
    /// - Returns: the path, and whether its group may open it.
    package static func own(forStore store: String) -> (path: String, isGroups: Bool) {
        guard let folder = Paths.ofService else { return (file(forStore: store, "sock"), false) }
        return (folder + "/" + name(store, "sock"), true)
    }

    /// The socket for requests about a store: this user's service, else the system's.
    package static func path(forStore store: String) -> String {
        let (own, system) = (own(forStore: store).path, systemFolder + "/" + name(store, "sock"))
        return access(own, F_OK) != 0 && access(system, F_OK) == 0 ? system : own
    }

    /// A file of the store's programs for the user's session.
    /// - Parameter kind: the suffix of its name.
    package static func file(forStore store: String, _ kind: String) -> String { Paths.ofSession(name(store, kind)) }

    private static func name(_ store: String, _ kind: String) -> String {
        let url = URL(fileURLWithPath: store).standardizedFileURL.resolvingSymlinksInPath()
        // FNV-1a, to distinguish stores.
        let hash = url.path.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        return "waterh-\(String(hash, radix: 36)).\(kind)"
    }

    package var isAnswering: Bool {
        guard let descriptor = try? open() else { return false }
        close(descriptor)
        return true
    }

    /// Sends a POST request with JSON and returns the response.
    /// - Parameter surface: the original interface: `dbus`, `notification`.
    /// - Throws: `CommandFailure`, also for an error response.
    package func post(_ target: String, _ body: JSONValue = [:], by surface: String? = nil) throws -> Data {
        let by = surface.map { "Waterh-Surface: \($0)\r\n" } ?? ""
        return try ask(
            "POST \(target)",
            "\(by)Content-Type: application/json\r\nContent-Length: \(body.text.utf8.count)\r\n\r\n\(body.text)")
    }

    package func get(_ target: String) throws -> Data { try ask("GET \(target)", "\r\n") }

    private func ask(_ what: String, _ rest: String) throws -> Data {
        let descriptor = try request(what, rest)
        defer { close(descriptor) }
        var answer = Data()
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while answer.count < Self.limit {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count >= 0 else { throw silent }
            guard count > 0 else { break }
            answer.append(contentsOf: buffer[..<count])
        }
        return try body(of: answer)
    }

    /// Sends the request and returns the connection.
    func request(_ what: String, _ rest: String) throws -> Int32 {
        let descriptor = try open()
        var rest = Array("\(what) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\(rest)".utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else {
                close(descriptor)
                throw silent
            }
            rest = rest.dropFirst(count)
        }
        return descriptor
    }

    /// The body of a successful response. Throws for an error response.
    func body(of answer: Data) throws -> Data {
        guard let end = answer.firstRange(of: Data("\r\n\r\n".utf8)),
            let line = String(decoding: answer[..<end.lowerBound], as: UTF8.self).split(separator: "\r\n").first,
            let status = line.split(separator: " ").dropFirst().first.flatMap({ Int($0) })
        else { throw silent }
        let body = Data(answer[end.upperBound...])
        guard (200..<300).contains(status) else {
            let problem = try? JSONDecoder().decode(Refused.self, from: body)
            throw CommandFailure(
                status < 500 ? .refused : .failed, problem?.detail ?? "The service answered \(status).",
                advice: problem?.code.flatMap(advice), code: problem?.code)
        }
        return body
    }

    private struct Refused: Decodable {
        var detail: String
        var code: String?
    }

    var silent: CommandFailure {
        CommandFailure(
            .failed, "The service at \(path) did not respond.",
            advice: "It might be starting or stopping. Try again in a moment.", code: "noAnswer")
    }

    func open() throws -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { throw absent }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw absent }
        var wait = timeval(tv_sec: limitSeconds, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &wait, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &wait, socklen_t(MemoryLayout<timeval>.size))
        let isOpen = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        guard isOpen else {
            close(descriptor)
            throw absent
        }
        guard let peer = Self.peer(of: descriptor), mayBeService(peer) else {
            close(descriptor)
            throw strange
        }
        return descriptor
    }

    /// The user ID of the listening process.
    private static func peer(of descriptor: Int32) -> uid_t? {
        // struct ucred: process, user, group.
        var credentials = [UInt32](repeating: .max, count: 3)
        var size = socklen_t(MemoryLayout<UInt32>.stride * credentials.count)
        guard getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0, size == 12 else { return nil }
        return credentials[1]
    }

    /// Whether the user can be the service's: this user, root, or the owner of a directory that only it can write.
    func mayBeService(_ user: uid_t) -> Bool {
        if user == geteuid() || user == 0 { return true }
        var folder = stat()
        guard stat((path as NSString).deletingLastPathComponent, &folder) == 0 else { return false }
        return folder.st_uid == user && folder.st_mode & 0o022 == 0
    }

    private var strange: CommandFailure {
        CommandFailure(
            .failed, "Another user's program listens at \(path): nothing was sent.",
            advice: "Show its owner: ls -l \(path)", code: "notTheService")
    }

    private var absent: CommandFailure {
        CommandFailure(
            .failed, "No service is running for this store (nothing listens at \(path)).",
            advice: "Start it with: waterh-gateway run", code: "noService")
    }
}
