import Captures

/// The limits for unpacking, against decompression bombs. Unpacking ends with an error when a limit is exceeded.
package struct ArchiveLimits: Sendable {
    /// The maximum total of unpacked bytes.
    package var bytes: Int
    /// The maximum ratio of unpacked to packed bytes.
    package var ratio: Int
    /// The number of unpacked bytes up to which `ratio` is not checked.
    package var freeBytes: Int
    /// The maximum number of members, including those of nested archives.
    package var members: Int
    /// The maximum number of captures. Each one stays open.
    package var captures: Int
    /// The maximum nesting depth; 1 for an archive without archives inside.
    package var nesting: Int
    package var time: Duration

    package init(
        bytes: Int = 4 << 30, ratio: Int = 200, freeBytes: Int = 256 << 20, members: Int = 50_000, captures: Int = 64,
        nesting: Int = 2,
        time: Duration = .seconds(120)
    ) {
        (self.bytes, self.ratio, self.freeBytes) = (bytes, ratio, freeBytes)
        (self.members, self.captures, self.nesting, self.time) = (members, captures, nesting, time)
    }
}

/// Counts the unpacked bytes of an archive and checks them against the limits.
final class ArchiveBudget {
    let limits: ArchiveLimits
    private var bytes = 0
    private var members = 0
    /// The size of the archive in bytes.
    private let packed: Int
    private let startedAt = ContinuousClock.now

    init(_ limits: ArchiveLimits, packed: Int) {
        self.limits = limits
        self.packed = packed
    }

    /// Counts unpacked bytes, and checks the time.
    /// - Throws: `CaptureError` if a limit is exceeded.
    func countBytes(_ count: Int) throws(CaptureError) {
        bytes += count
        guard bytes <= limits.bytes else { throw Self.rejection("more than \(Self.size(limits.bytes)) unpacked") }
        guard bytes <= limits.freeBytes || bytes / max(1, packed) <= limits.ratio else {
            throw Self.rejection("more than \(limits.ratio) unpacked bytes for each packed byte")
        }
        guard startedAt.duration(to: .now) <= limits.time else {
            throw Self.rejection("unpacking takes more than \(durationText(limits.time))")
        }
    }

    func countMember() throws(CaptureError) {
        members += 1
        guard members <= limits.members else { throw Self.rejection("more than \(limits.members) files") }
        try countBytes(0)
    }

    private static func rejection(_ reason: String) -> CaptureError {
        CaptureError(.unsupported, at: 0, "archive rejected: \(reason). Unpack it manually and pass the capture file")
    }

    private static func size(_ bytes: Int) -> String {
        bytes >= 1 << 30 ? "\(bytes >> 30) GiB" : bytes >= 1 << 20 ? "\(bytes >> 20) MiB" : "\(bytes) bytes"
    }
}
