import BottleProtocol
import CommandKit
import CommandStore
import Foundation
import Gateway
import Store
import TrackerCore

/// The store and the plan of a running service: what `PollService` asks of its surroundings.
actor ServiceDesk {
    /// With the settings and the zone as they were read last.
    private var depot: Depot
    private var plan: ServicePlan
    private let supervisor: Supervisor
    private var settingsTrouble: String?
    /// The plans as they were when the store could be read last.
    private var plans: [BottlePlan] = []

    init(depot: Depot, plan: ServicePlan, supervisor: Supervisor) {
        self.depot = depot
        self.plan = plan
        self.supervisor = supervisor
    }

    nonisolated func surroundings(_ driver: GatewayDriver) -> PollService.Surroundings {
        PollService.Surroundings(
            look: { await self.look() },
            options: { await self.options($0) },
            poll: { await driver.poll($0) },
            isPollOnTime: { await driver.isOnTime(grace: $0) },
            afterPoll: { await self.afterPoll($0, $1) },
            say: { await self.tell($0) })
    }

    /// Who writes, now: for what else changes the store beside the polls.
    func context() -> WriteContext { depot.context() }

    /// Goes on with another plan. Link and store stay: they need a restart.
    func take(_ new: ServicePlan) {
        if new.link.link != plan.link.link || new.store.path != plan.store.path {
            Diagnostics.warning("A changed link or store takes effect at the next start of the service.")
        }
        plan = new
    }

    private func look() -> [(plan: BottlePlan, rhythm: PollRhythm?)] {
        reread()
        if let own = try? Depot.own(depot.store) {
            plans = BottlePlan.plans(wanted: Depot.meant(plan.link.wantedBottle, among: own), own: own)
        } else if plans.isEmpty {
            // Nothing will be taken from it while the store cannot be read: see `options`.
            plans = BottlePlan.plans(wanted: plan.link.wantedBottle, own: [])
        }
        let context = depot.context()
        let rhythm = (try? depot.store.facts(context)).map { PollPlan.rhythm($0, now: context.now) }
        return plans.map { ($0, rhythm) }
    }

    /// `nil` where the store cannot be read: another's bottle might be drained.
    private func options(_ bottle: BottlePlan) -> PollOptions? {
        reread()
        guard var options = try? depot.pollOptions(dialect: plan.dialect) else { return nil }
        options.keep = plan.keep
        options.allowPowerCycle = plan.link.allowPowerCycle
        return options
    }

    private func afterPoll(_ report: PollReport, _ options: PollOptions) {
        depot.afterCommit()
        if report.failure != nil, let resolved = try? depot.lookAgain(options), resolved > 0 {
            Diagnostics.line("\(resolved) records of earlier polls got a date and count now.")
        }
    }

    /// Settings and zone anew each time: another process may have changed them, SIGHUP says so, or the machine travels.
    private func reread() {
        do {
            depot = try depot.reread(zone: plan.zone)
            settingsTrouble = nil
        } catch {
            // Told once: the poll goes on with what is known.
            if settingsTrouble != "\(error)" { Diagnostics.warning("The settings stay as they were read last: \(error)") }
            settingsTrouble = "\(error)"
        }
    }

    /// One line where something happened; a failure is said once, until it changes.
    private func tell(_ news: ServiceNews) {
        switch news {
        case .failed(let bottle, let failure, let isNew):
            supervisor.tell(status: failure.kind.text)
            guard isNew else { return }
            let who = plans.count > 1 ? " (\(bottle.own.first?.aliases.min() ?? bottle.id))" : ""
            Diagnostics.error("\(failure.kind.text)\(who): \(sentence(failure.sentence))", advice: failure.advice)
        case .answersAgain:
            Diagnostics.line("The bottle answers again.")
        case .adopted(let report):
            if let line = PollText.adoption(report) { Diagnostics.line(line) }
        case .brought(let report):
            for line in PollText.lines(report, state: try? depot.state()) { Diagnostics.line(line) }
            supervisor.tell(status: "\(report.received) records at the last poll that brought some")
        }
    }
}
