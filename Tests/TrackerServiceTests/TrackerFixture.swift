import Store
import Synchronization
import TrackerCore
import TrackerService

/// A store in memory, opened at wall times of one day in Berlin.
final class TrackerFixture: Sendable {
    let store: TrackerStore
    private let counter = Mutex(0)

    init() throws { store = try TrackerStore(inMemory: "Europe/Berlin") }

    /// - Parameter wall: `12:00`, or `2026-06-14T12:00`.
    func tracker(_ wall: String = "12:00", source: String = "cli") throws -> TrackerAPI {
        let zone = try Zone("Europe/Berlin")
        let now = try TimeText.parse(wall.count == 5 ? "2026-06-15T\(wall)" : wall, now: nil, zone: zone)
        return try TrackerAPI(
            store, now: now, zone: ZoneChoice(named: zone.id, machine: .utc), source: source,
            makeID: {
                self.counter.withLock { count in
                    count += 1
                    return "id-\(count)"
                }
            })
    }

    /// The same without `throws`.
    func requiredTracker(_ wall: String) -> TrackerAPI {
        do { return try tracker(wall) } catch { preconditionFailure("\(error)") }
    }
}

extension EntryOutcome {
    private struct Unexpected: Error {}

    func asDrink() throws -> DrinkOutcome {
        if case .drink(let drink) = self { drink } else { throw Unexpected() }
    }

    func asSession() throws -> SessionView {
        if case .session(let session) = self { session } else { throw Unexpected() }
    }
}
