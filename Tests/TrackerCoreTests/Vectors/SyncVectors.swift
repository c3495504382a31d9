import Testing
import TrackerCore

/// E8: last write wins, the outbox offline, back-off.
@Suite struct SyncVectors {
    static let table: [Vector] = writes + outbox

    @Test(arguments: table) func vector(_ vector: Vector) throws { try vector.check() }

    private static func stamp(_ time: Int64, _ device: String = "a", deleted: Bool = false) -> WriteStamp {
        WriteStamp(updatedAt: Instant(seconds: time), device: device, isDeleted: deleted)
    }

    private static let writes = Vector.numbered(
        "E8-L",
        [
            ([stamp(10), stamp(12)], stamp(12)), ([stamp(11, deleted: true), stamp(10)], stamp(11, deleted: true)),
            ([stamp(11, deleted: true), stamp(12)], stamp(12)), ([stamp(12, "a"), stamp(12, "b")], stamp(12, "b")),
            ([stamp(12, "a", deleted: true), stamp(12, "b")], stamp(12, "b")),
        ] as [([WriteStamp], WriteStamp)]
    ) { writes, winner in
        for order in [writes, writes.reversed(), writes + writes] {
            var stored: WriteStamp?
            for write in order where WriteStamp.wins(write, over: stored) { stored = write }
            #expect(stored == winner)
        }
    }

    private static func log(_ number: Int) -> OutboxItem.Entity { .init(kind: "logEntry", id: "log\(number)") }
    private static let session = OutboxItem.Entity(kind: "session", id: "s")

    private static let outbox: [Vector] = [
        // Three entries while the server is down; they arrive in order once it is up.
        Vector("E8-O1") {
            var outbox = Outbox()
            var now = Instant(seconds: 0)
            for number in 1...3 { outbox.enqueue(.addLogEntry, log(number), payload: "\(number)", updatedAt: now) }
            #expect(outbox.status(isSending: false, isOffline: false) == .pending(3))
            while let item = outbox.next(at: now) { outbox.finish(item, .unreachable, at: now) }
            #expect(outbox.pending == 3 && outbox.status(isSending: false, isOffline: true) == .offline)
            var received: [String] = []
            now = now.advanced(seconds: 1)
            while let item = outbox.next(at: now) {
                received.append(item.payload)
                outbox.finish(item, .sent, at: now)
            }
            #expect(received == ["1", "2", "3"])
            #expect(outbox.pending == 0 && outbox.status(isSending: false, isOffline: false) == .idle)
        },
        // 500 once: retried after a second with the same item id, so that the server can detect it.
        Vector("E8-O2") {
            var outbox = Outbox()
            let now = Instant(seconds: 0)
            outbox.enqueue(.addLogEntry, log(1), payload: "1", updatedAt: now)
            let first = try #require(outbox.next(at: now))
            outbox.finish(first, .refused(status: 500), at: now)
            #expect(outbox.next(at: now) == nil)
            let again = try #require(outbox.next(at: now.advanced(seconds: 1)))
            #expect(again.id == first.id && again.attempts == 1)
        },
        Vector("E8-O3") {
            #expect((1...12).map(Outbox.backOffSeconds) == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300])
        },
        // 4xx rejects the item and later ones of the same entity, and no others.
        Vector("E8-O4") {
            var outbox = Outbox()
            let now = Instant(seconds: 0)
            outbox.enqueue(.addLogEntry, log(1), payload: "1", updatedAt: now)
            outbox.enqueue(.deleteLogEntry, log(1), payload: "", updatedAt: now)
            outbox.enqueue(.addLogEntry, log(2), payload: "2", updatedAt: now)
            outbox.finish(try #require(outbox.next(at: now)), .refused(status: 422), at: now)
            #expect(outbox.next(at: now)?.payload == "2")
            outbox.finish(try #require(outbox.next(at: now)), .sent, at: now)
            #expect(outbox.next(at: now) == nil && outbox.pending == 2)
            #expect(outbox.status(isSending: false, isOffline: false) == .error)
            outbox.retryRejected()
            #expect(outbox.next(at: now)?.payload == "1")
        },
        // A newer upsert replaces the queued one; an older one does not; an item that is being sent is kept.
        Vector("E8-O5") {
            var outbox = Outbox()
            let now = Instant(seconds: 0)
            outbox.enqueue(.upsertSession, session, payload: "old", updatedAt: Instant(seconds: 10))
            outbox.enqueue(.addLogEntry, log(1), payload: "1", updatedAt: Instant(seconds: 11))
            let sending = try #require(outbox.next(at: now))
            outbox.enqueue(.upsertSession, session, payload: "new", updatedAt: Instant(seconds: 12))
            outbox.enqueue(.upsertSession, session, payload: "older", updatedAt: Instant(seconds: 9))
            #expect(outbox.items.map(\.payload) == ["new", "1"])
            outbox.finish(sending, .sent, at: now)
            #expect(outbox.items.map(\.payload) == ["new", "1"])
        },
    ]
}
