import Synchronization

/// A person's plan as it is now, for all who follow it.
final class PlanInForce: Sendable {
    private let held: Mutex<PersonPlan>

    init(_ plan: PersonPlan) { held = Mutex(plan) }

    var plan: PersonPlan { held.withLock { $0 } }
    func take(_ new: PersonPlan) { held.withLock { $0 = new } }
}
