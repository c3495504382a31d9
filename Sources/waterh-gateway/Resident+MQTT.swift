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
        var around = Self.surroundings(store, { [self] in planInForce }, log: log, canNotify: canNotify)
        (around.service, around.wrote) = (service, wrote)
        return MQTTOutlet(around, sink: sink)
    }

    /// What every connection of a store with brokers is used in, also without a service for it.
    static func surroundings(
        _ store: TrackerStore, _ plan: @escaping @Sendable () -> PersonPlan, log: Logger, canNotify: @escaping @Sendable () -> Bool = { false }
    ) -> MQTTOutlet.Surroundings {
        let place = store.path
        return MQTTOutlet.Surroundings(
            desk: { try TrackerDesk(store, now: Machine.now(), zone: Depot.choice(plan().zone), source: "mqtt", canNotify: canNotify()) },
            overlay: { try overlay($0, plan()) }, sharesWaterline: { plan().sharesWaterline }, version: ProgramVersion.text,
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
            home: { place == ":memory:" ? nil : Machine.home(of: place) }, watch: { place == ":memory:" ? nil : StoreWatch(place) },
            say: { word in
                switch word {
                case .connected(let plan): log.notice("MQTT: connected with \(plan).")
                case .trouble(let trouble): log.warning("MQTT: \(sentence(trouble)) It is tried again.")
                case .copied(let words):
                    log.warning(
                        "MQTT: \(words) Was it moved here: waterh-gateway identity keep --store \(place). Is it a copy: give it another prefix (mqtt.prefix) first, then waterh-gateway identity new --store \(place).")
                case .off: log.notice("MQTT: the settings name no broker any more.")
                case .stays(let words): log.warning("MQTT: \(words)")
                case .ignored(let words): log.warning("MQTT: \(words)")
                }
            })
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
