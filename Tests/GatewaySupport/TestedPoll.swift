import Bluetooth
import Gateway
import TrackerCore

/// The state machine of a poll as tests run it: an event and a journal that answers at once, effects in return.
package typealias TestedPoll = GatewayEngine

extension GatewayEngine {
    /// Handles the event and every answer of the journal that it leads to.
    package mutating func handle(
        _ event: EngineEvent, at now: MonotonicInstant, wall: Instant, journal: any Journal
    ) -> [EngineEffect] {
        var events = [event]
        var effects: [EngineEffect] = []
        while !events.isEmpty {
            for effect in handle(events.removeFirst(), at: now, wall: wall) {
                if case .journal(let request) = effect {
                    events.append(.journal(journal.answer(request)))
                } else {
                    effects.append(effect)
                }
            }
        }
        return effects
    }
}
