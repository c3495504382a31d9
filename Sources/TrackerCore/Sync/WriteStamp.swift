/// The time and device of a change, which decide conflicts between devices (tracker spec E8). The later change wins; in
/// the same millisecond, the greater device ID wins. A deletion is a change with its own time.
package struct WriteStamp: Hashable, Comparable, Sendable, Codable {
    package var updatedAt: Instant
    package var device: String
    package var isDeleted: Bool

    package init(updatedAt: Instant, device: String, isDeleted: Bool = false) {
        self.updatedAt = updatedAt
        self.device = device
        self.isDeleted = isDeleted
    }

    /// Compares device ids by bytes. A device's deletion wins over its edit of the same millisecond.
    package static func < (left: WriteStamp, right: WriteStamp) -> Bool {
        if left.updatedAt != right.updatedAt { return left.updatedAt < right.updatedAt }
        if left.device != right.device { return left.device.utf8.lexicographicallyPrecedes(right.device.utf8) }
        return !left.isDeleted && right.isDeleted
    }

    /// Whether an arriving change replaces the stored one.
    package static func wins(_ arriving: WriteStamp, over stored: WriteStamp?) -> Bool {
        stored.map { $0 < arriving } ?? true
    }
}
