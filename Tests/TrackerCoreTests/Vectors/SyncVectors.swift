import Testing
import TrackerCore

/// E8: last write wins, the outbox offline, back-off.
enum SyncVectors {
    static let table: [Vector] = writes + outbox

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

    private static func item(
        _ id: Int64, _ entity: String, _ payload: String, _ operation: OutboxItem.Operation = .addLogEntry
    ) -> OutboxItem {
        OutboxItem(
            id: id, entity: .init(kind: "logEntry", id: entity), operation: operation, payload: payload,
            updatedAt: Instant(seconds: 0))
    }

    private static let outbox: [Vector] = [
        // Three entries while the server is down; they arrive in order once it is up.
        Vector("E8-O1") {
            var outbox = Outbox((1...3).map { item($0, "log\($0)", "\($0)") })
            var now = Instant(seconds: 0)
            #expect(outbox.status == .pending)
            while let item = outbox.next(at: now) { outbox.finish(item, .noResponse("none"), at: now) }
            #expect(outbox.items.count == 3 && outbox.status == .offline)
            var received: [String] = []
            now = now.advanced(seconds: 1)
            while let item = outbox.next(at: now) {
                received.append(item.payload)
                outbox.finish(item, .sent, at: now)
            }
            #expect(received == ["1", "2", "3"])
            #expect(outbox.items.isEmpty && outbox.status == .idle)
        },
        // A server error, timeout or rate limit: retried after a second with the same item id, so that the server can
        // detect it.
        Vector("E8-O2") {
            for status in [500, 408, 425, 429] {
                var outbox = Outbox([item(1, "log1", "1")])
                let now = Instant(seconds: 0)
                let first = try #require(outbox.next(at: now))
                outbox.finish(first, .failed(status: status), at: now)
                #expect(outbox.next(at: now) == nil)
                let again = try #require(outbox.next(at: now.advanced(seconds: 1)))
                #expect(again.id == first.id && again.attempts == 1)
            }
        },
        Vector("E8-O3") {
            #expect((1...12).map(Outbox.backOffSeconds) == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300])
        },
        // 4xx rejects the item and later ones of the same entity, and no others.
        Vector("E8-O4") {
            var outbox = Outbox([item(1, "log1", "1"), item(2, "log1", "", .deleteLogEntry), item(3, "log2", "2")])
            let now = Instant(seconds: 0)
            outbox.finish(try #require(outbox.next(at: now)), .failed(status: 422), at: now)
            #expect(outbox.next(at: now)?.payload == "2")
            outbox.finish(try #require(outbox.next(at: now)), .sent, at: now)
            #expect(outbox.next(at: now) == nil && outbox.items.count == 2 && outbox.status == .error)
        },
        // A change that replaced the one that was sent is kept.
        Vector("E8-O5") {
            var outbox = Outbox([item(1, "log1", "new"), item(2, "log2", "1")])
            outbox.finish(item(1, "log1", "old"), .sent, at: Instant(seconds: 13))
            #expect(outbox.items.map(\.payload) == ["new", "1"])
        },
    ]
}
