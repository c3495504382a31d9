/// When two devices changed the same thing (tracker spec E8): the later one counts; in the same millisecond the greater
/// device id. A deletion is a change like any other, with its own time.
package struct WriteStamp: Hashable, Comparable, Sendable, Codable {
    /// When it was changed.
    package var updatedAt: Instant
    /// Id of the device that changed it.
    package var device: String
    /// The change was a deletion.
    package var isDeleted: Bool

    package init(updatedAt: Instant, device: String, isDeleted: Bool = false) {
        self.updatedAt = updatedAt
        self.device = device
        self.isDeleted = isDeleted
    }

    /// Device ids compare by their bytes, so that every machine agrees; one device's own deletion wins over its edit of
    /// the same millisecond.
    package static func < (left: WriteStamp, right: WriteStamp) -> Bool {
        if left.updatedAt != right.updatedAt { return left.updatedAt < right.updatedAt }
        if left.device != right.device { return left.device.utf8.lexicographicallyPrecedes(right.device.utf8) }
        return !left.isDeleted && right.isDeleted
    }

    /// Whether a write that arrives replaces what is there.
    package static func wins(_ arriving: WriteStamp, over stored: WriteStamp?) -> Bool {
        stored.map { $0 < arriving } ?? true
    }
}
