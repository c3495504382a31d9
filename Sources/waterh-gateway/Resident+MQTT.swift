import CommandKit
import CommandStore
import Logging
import MQTTSurface
import Store
import TrackerCore
import TrackerDesk

extension Resident {
    /// The person's day at an MQTT broker, where the settings or the file name one.
    func outlet(_ sink: MQTTSink, _ service: ServiceDoor, canNotify: @escaping @Sendable () -> Bool, wrote: @escaping @Sendable () async -> Void) -> MQTTOutlet {
        let (log, place) = (log, store.path)
        let around = MQTTOutlet.Surroundings(
            desk: { [self] in try TrackerDesk(store, now: Machine.now(), zone: Depot.choice(planInForce.zone), source: "mqtt", canNotify: canNotify()) },
            overlay: { [self] in try Self.overlay($0, planInForce) }, service: service,
            sharesWaterline: { [self] in planInForce.sharesWaterline }, version: ProgramVersion.text, wrote: wrote,
            claim: { client in
                // Where it cannot be seen who has the name, the broker shows it.
                guard let lock = try? NameLock(Paths.ofSession("\(client).lock")) else { return nil }
                guard lock.isOurs else {
                    throw Refusal(
                        "mqttNameTaken",
                        "Another service speaks to brokers as \(client): it keeps this store, or one of which this one is a copy. Only one of them is heard there. Stop the other, or make copies with waterh-tracker backup: they have a name of their own.",
                        category: .busy)
                }
                return lock
            },
            home: { [self] in store.path == ":memory:" ? nil : Machine.home(of: store.path) }, watch: { [self] in store.path == ":memory:" ? nil : StoreWatch(store.path) },
            say: { word in
                switch word {
                case .connected(let plan): log.notice("MQTT: connected with \(plan).")
                case .trouble(let trouble): log.warning("MQTT: \(sentence(trouble)) It is tried again.")
                case .copied(let words):
                    log.warning(
                        "MQTT: \(words) Was it moved here: waterh-gateway identity keep --store \(place). Is it a copy: waterh-gateway identity new --store \(place), and give one of the two another prefix.")
                case .off: log.notice("MQTT: the settings name no broker any more.")
                case .stays(let words): log.warning("MQTT: \(words)")
                case .ignored(let words): log.warning("MQTT: \(words)")
                }
            })
        return MQTTOutlet(around, sink: sink)
    }

    /// What the file says goes before the settings; who is listed has a level of their own below the
    /// prefix, whoever named the broker.
    private static func overlay(_ settings: Settings, _ plan: PersonPlan) throws -> Settings {
        var settings = settings
        for (name, text) in plan.mqtt { try settings.set(name, to: text) }
        if let listed = plan.listed {
            try settings.set("mqtt.prefix", to: "\(settings.service.mqttPrefix)/\(PlainName.of(listed))")
        }
        return settings
    }
}
