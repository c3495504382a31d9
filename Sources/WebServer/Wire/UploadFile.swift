import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import Store
import Synchronization
import TrackerCore

/// A request's body in a file, because it is too large for memory. It is read only when complete.
final class UploadFile: Sendable {
    /// The maximum size in bytes. Larger files require the command line.
    static let limit = 64 << 20
    /// The maximum pause of a client in seconds.
    static let silence = 10
    /// The minimum average rate after the first minute in bytes per second, so that slow clients do not block others.
    static let slowest = 4096
    /// The maximum number of simultaneous uploads. Above it, clients get an error and retry later.
    static let most = 2
    private static let coming = Mutex(0)

    private let scratch: ScratchFolder
    private let count: Int
    private let mark: UInt64

    var path: String { scratch.file("body") }
    /// Distinguishes this body from another one with the same key.
    var fingerprint: String { "\(count) \(mark)" }

    init(of request: Request, besideStore store: String, limit: Int = UploadFile.limit) async throws {
        if let length = request.headers[.contentLength].flatMap(Int.init), length > limit { throw Self.tooLarge(limit) }
        try Self.enter()
        defer { Self.coming.withLock { $0 -= 1 } }
        scratch = try ScratchFolder(besideStore: store)
        let (place, body, last) = (scratch.file("body"), request.body, Last())
        (count, mark) = try await withThrowingTaskGroup(of: (Int, UInt64)?.self) { group in
            group.addTask { try await Self.write(body, to: place, upTo: limit, last) }
            group.addTask {
                while true {
                    let rest = ContinuousClock.now.duration(to: last.limit)
                    guard rest > .zero else { return nil }
                    try await Task.sleep(for: rest)
                }
            }
            defer { group.cancelAll() }
            guard let first = try await group.next(), let whole = first else {
                throw HTTPProblem(
                    .requestTimeout, "slowBody",
                    """
                    The body arrived too slowly: nothing for \(Self.silence) seconds, or less than \(Self.slowest) \
                    bytes per second.
                    """,
                    headers: [.connection: "close"])
            }
            return whole
        }
    }

    /// Passes the bytes in chunks, on a thread that may block.
    func read(_ feed: (UnsafeRawBufferPointer) throws -> Void) throws {
        guard let file = FileHandle(forReadingAtPath: path) else {
            throw Refusal("noScratch", "The temporary file of the upload is missing.")
        }
        defer { try? file.close() }
        while let piece = try file.read(upToCount: 1 << 16), !piece.isEmpty { try piece.withUnsafeBytes(feed) }
    }

    /// Writes the body. Returns the number of bytes and their FNV-1a hash, to detect another file with the same key.
    private static func write(_ body: RequestBody, to place: String, upTo limit: Int, _ last: Last) async throws -> (
        Int, UInt64
    ) {
        guard FileManager.default.createFile(atPath: place, contents: nil, attributes: [.posixPermissions: 0o600]),
            let file = FileHandle(forWritingAtPath: place)
        else { throw Refusal("noScratch", "Creating a temporary file for the upload failed.") }
        defer { try? file.close() }
        var (count, mark) = (0, UInt64(0xCBF2_9CE4_8422_2325))
        try await body.forEachPart { part in
            last.came(part.readableBytes)
            count += part.readableBytes
            guard count <= limit else { throw tooLarge(limit) }
            for byte in part.readableBytesView { mark = (mark ^ UInt64(byte)) &* 0x100_0000_01B3 }
            do {
                try file.write(contentsOf: Data(part.readableBytesView))
            } catch {
                throw Refusal("noScratch", "No space is left for the upload.", category: .diskFull)
            }
        }
        return (count, mark)
    }

    /// The progress of the upload and the time of the last bytes.
    private final class Last: Sendable {
        private let state = Mutex((began: ContinuousClock.now, last: ContinuousClock.now, bytes: 0))

        var limit: ContinuousClock.Instant {
            state.withLock {
                min($0.last + .seconds(UploadFile.silence), $0.began + .seconds(60 + $0.bytes / UploadFile.slowest))
            }
        }

        func came(_ bytes: Int) {
            state.withLock {
                $0.last = .now
                $0.bytes += bytes
            }
        }
    }

    private static func enter() throws {
        let isIn = coming.withLock { coming in
            guard coming < most else { return false }
            coming += 1
            return true
        }
        guard isIn else {
            throw HTTPProblem(
                .serviceUnavailable, "manyFiles",
                "Two uploads are in progress. Try again in a minute.",
                headers: [.retryAfter: "60", .connection: "close"])
        }
    }

    private static func tooLarge(_ limit: Int) -> HTTPProblem {
        HTTPProblem(
            .contentTooLarge, "tooLarge",
            "The file is larger than \(limit >> 20) MiB. Import it with: waterh-tracker import FILE",
            headers: [.connection: "close"])
    }
}
