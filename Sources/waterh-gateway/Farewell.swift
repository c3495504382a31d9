import CommandStore
import Logging
import MQTTSurface
import PocketSurface
import Store

/// Takes back what brokers keep of somebody who is not served any more, and what is shown on their phone. Until it is
/// done: the other end may be away.
struct Farewell: Sendable {
    let plan: PersonPlan
    let log: Logger
    /// Those who are served: what is told them stays.
    let present: PresentStores

    /// Whether anything of that store is to be taken back. Makes and changes nothing.
    static func isDue(_ place: StorePlace) -> Bool {
        guard let store = try? place.open(hostZone: nil, for: .looking) else { return false }
        return (try? MQTTOutlet.leavesSomething(store) || PocketOutlet.leavesSomething(store)) ?? false
    }

    func run() async {
        do {
            let depot = try Depot(plan.store, zone: plan.zone)
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await fromBrokers(depot.store) }
                group.addTask { await fromPhones(depot.store) }
            }
        } catch {
            log.warning(
                """
                What brokers keep and phones show of \(plan.name), who is not listed any more, cannot be taken \
                back: \(error)
                """
            )
        }
    }

    private func fromBrokers(_ store: TrackerStore) async {
        guard (try? MQTTOutlet.leavesSomething(store)) ?? true else { return }
        let outlet = MQTTOutlet(
            Resident.surroundings(store, { plan }, log: log, othersTopics: { present.topics }), sink: MQTTSink())
        if await outlet.takeBack() {
            log.notice("MQTT: \(plan.name) is not listed any more, and what brokers kept of that day is taken back.")
        }
    }

    private func fromPhones(_ store: TrackerStore) async {
        guard (try? PocketOutlet.leavesSomething(store)) ?? true else { return }
        let service = PocketService.ntfy
        let outlet = PocketOutlet(
            service,
            Resident.pocketSurroundings(service.title, store, plan.listed, { plan }, nil, among: present, log: log))
        if await outlet.takeBackAll() {
            log.notice(
                """
                \(service.title): \(plan.name) is not listed any more, and what a phone showed of that day is \
                taken back.
                """
            )
        }
    }
}
