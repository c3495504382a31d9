import CommandStore
import Logging
import MQTTSurface
import Store

/// Takes back what brokers keep of a person who is not served any more. Goes on until it is done, because a broker may
/// be away.
struct Farewell: Sendable {
    let plan: PersonPlan
    let log: Logger
    /// Those who are served: what is told them stays.
    let present: PresentStores

    /// Whether anything of that store is to be taken back. Makes and changes nothing.
    static func isDue(_ place: StorePlace) -> Bool {
        guard let store = try? place.open(hostZone: nil, for: .looking) else { return false }
        return (try? MQTTOutlet.leavesSomething(store)) ?? false
    }

    func run() async {
        do {
            let depot = try Depot(plan.store, zone: plan.zone)
            await fromBrokers(depot.store)
        } catch {
            log.warning(
                """
                What brokers keep of \(plan.name), who is not listed any more, cannot be taken back: \(error)
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
}
