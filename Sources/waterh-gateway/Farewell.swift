import CommandStore
import Logging
import MQTTSurface
import Store

/// Takes back what brokers keep of somebody who is not served any more. Until it is done: the broker may be away.
struct Farewell: Sendable {
    let plan: PersonPlan
    let log: Logger
    /// At which topics brokers keep something of those who are served.
    let othersTopics: @Sendable () -> Set<String>

    /// Whether a broker keeps anything of that store. Makes and changes nothing.
    static func isDue(_ place: StorePlace) -> Bool {
        guard let store = try? place.open(hostZone: nil, for: .looking) else { return false }
        return (try? MQTTOutlet.leavesSomething(store)) ?? false
    }

    func run() async {
        do {
            let depot = try Depot(plan.store, zone: plan.zone)
            let outlet = MQTTOutlet(Resident.surroundings(depot.store, { plan }, log: log, othersTopics: othersTopics), sink: MQTTSink())
            if await outlet.takeBack() { log.notice("MQTT: \(plan.name) is not listed any more, and what brokers kept of that day is taken back.") }
        } catch {
            log.warning("MQTT: what brokers keep of \(plan.name), who is not listed any more, cannot be taken back: \(error)")
        }
    }
}
