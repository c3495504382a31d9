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
    /// The maximum time without new bytes in seconds.
    static let idleLimit = 10
    /// The minimum average rate after the first minute in bytes per second, so that slow clients do not block others.
    static let minimumRate = 4096
    /// The maximum number of simultaneous uploads. Above it, clients get an error and retry later.
    static let concurrentLimit = 2
    private static let uploads = Mutex(0)

    private let scratch: ScratchFolder
    private let count: Int
    private let hash: UInt64

    /// Identifies the content, to detect another body with the same idempotency key.
    var fingerprint: String { "\(count) \(hash)" }

    init(of request: Request, besideStore store: String) async throws {
        if let length = request.headers[.contentLength].flatMap(Int.init), length > Self.limit { throw Self.tooLarge }
        try Self.reserve()
        defer { Self.uploads.withLock { $0 -= 1 } }
        scratch = try ScratchFolder(besideStore: store)
        let (file, body, progress) = (try scratch.create("body"), request.body, Progress())
        (count, hash) = try await withThrowingTaskGroup(of: (Int, UInt64)?.self) { group in
            group.addTask { try await Self.write(body, to: file, progress) }
            group.addTask {
                while true {
                    let remainingTime = ContinuousClock.now.duration(to: progress.limit)
                    guard remainingTime > .zero else { return nil }
                    try await Task.sleep(for: remainingTime)
                }
            }
            defer { group.cancelAll() }
            guard let first = try await group.next(), let written = first else {
                throw HTTPProblem(
                    .requestTimeout, "slowBody",
                    """
                    The body arrived too slowly: nothing for \(Self.idleLimit) seconds, or less than \
                    \(Self.minimumRate) bytes per second.
                    """,
                    headers: [.connection: "close"])
            }
            return written
        }
    }

    /// Passes the bytes in chunks, on a thread that may block.
    func read(_ process: (UnsafeRawBufferPointer) throws -> Void) throws {
        guard let file = FileHandle(forReadingAtPath: scratch.file("body")) else {
            throw Refusal("noScratch", "The temporary file of the upload is missing.")
        }
        defer { try? file.close() }
        while let piece = try file.read(upToCount: 1 << 16), !piece.isEmpty { try piece.withUnsafeBytes(process) }
    }

    /// Writes the body. Returns the number of bytes and their FNV-1a hash, to detect another file with the same key.
    private static func write(
        _ body: RequestBody, to file: FileHandle, _ progress: Progress
    ) async throws -> (Int, UInt64) {
        var (count, hash) = (0, UInt64(0xCBF2_9CE4_8422_2325))
        try await body.forEachPart { part in
            progress.received(part.readableBytes)
            count += part.readableBytes
            guard count <= limit else { throw tooLarge }
            for byte in part.readableBytesView { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
            do {
                try file.write(contentsOf: Data(part.readableBytesView))
            } catch {
                throw Refusal("noScratch", "No space is left for the upload.", category: .diskFull)
            }
        }
        return (count, hash)
    }

    /// The progress of the upload and the time of the last bytes.
    private final class Progress: Sendable {
        private let state = Mutex((began: ContinuousClock.now, lastReceived: ContinuousClock.now, bytes: 0))

        var limit: ContinuousClock.Instant {
            state.withLock {
                min(
                    $0.lastReceived + .seconds(UploadFile.idleLimit),
                    $0.began + .seconds(60 + $0.bytes / UploadFile.minimumRate))
            }
        }

        func received(_ bytes: Int) {
            state.withLock {
                $0.lastReceived = .now
                $0.bytes += bytes
            }
        }
    }

    private static func reserve() throws {
        let isReserved = uploads.withLock { uploads in
            guard uploads < concurrentLimit else { return false }
            uploads += 1
            return true
        }
        guard isReserved else {
            throw HTTPProblem(
                .serviceUnavailable, "manyFiles",
                "Two uploads are in progress. Try again in a minute.",
                headers: [.retryAfter: "60", .connection: "close"])
        }
    }

    private static let tooLarge = HTTPProblem(
        .contentTooLarge, "tooLarge",
        "The file is larger than \(limit >> 20) MiB. Import it with: waterh-tracker import FILE",
        headers: [.connection: "close"])
}
