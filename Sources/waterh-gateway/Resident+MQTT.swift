import CommandKit
import CommandStore
import Logging
import MQTTSurface
import Store
import TrackerCore
import TrackerDesk

extension Resident {
    /// The person's day at an MQTT broker, where the settings or the file name one.
    func outlet(
        _ sink: MQTTSink, _ service: ServiceDoor, canNotify: @escaping @Sendable () -> Bool,
        wrote: @escaping @Sendable () async -> Void
    ) -> MQTTOutlet {
        var around = Self.surroundings(store, { [self] in planInForce }, watch, log: log, canNotify: canNotify)
        (around.service, around.wrote) = (service, wrote)
        return MQTTOutlet(around, sink: sink)
    }

    /// What every connection of a store with brokers is used in, also without a service for it.
    static func surroundings(
        _ store: TrackerStore, _ plan: @escaping @Sendable () -> PersonPlan, _ watch: StoreWatch? = nil, log: Logger,
        canNotify: @escaping @Sendable () -> Bool = { false },
        othersTopics: @escaping @Sendable () -> Set<String> = { [] }
    ) -> MQTTOutlet.Surroundings {
        let place = store.path
        return MQTTOutlet.Surroundings(
            desk: {
                try TrackerDesk(
                    store, now: Machine.now(), zone: Depot.choice(plan().zone), source: "mqtt", canNotify: canNotify())
            },
            overlay: { try overlay($0, file: plan().mqtt, listed: plan().listed) },
            sharesWaterline: { plan().sharesWaterline }, version: ProgramVersion.text,
            claim: { client in
                // Where it cannot be seen who has the name, the broker shows it.
                guard let lock = try? NameLock(Paths.ofSession("\(client).lock")) else { return nil }
                guard lock.isOurs else {
                    throw Refusal(
                        "mqttNameTaken",
                        """
                        Another service speaks to brokers as \(client): it keeps this store, or one of which this \
                        one is a copy. \(BrokerAdvice.nameTaken)
                        """,
                        category: .busy)
                }
                return lock
            },
            home: { place == ":memory:" ? nil : Machine.home(of: place) }, watch: { watch }, othersTopics: othersTopics,
            say: { word in
                let advice = BrokerAdvice.about(word, store: place).map { " \($0)" } ?? ""
                switch word {
                case .connected(let plan): log.notice("MQTT: connected with \(plan).")
                case .trouble(let trouble): log.warning("MQTT: \(sentence(trouble)) It is tried again.")
                case .nameShared(let words): log.warning("MQTT: \(sentence(words)) It is tried again.\(advice)")
                case .copied(let words), .prefixShared(let words): log.warning("MQTT: \(words)\(advice)")
                case .off: log.notice("MQTT: the settings name no broker any more.")
                case .stays(let words): log.warning("MQTT: \(words)")
                case .takenBack(let words): log.notice("MQTT: \(words)")
                case .ignored(let words): log.warning("MQTT: \(words)")
                }
            })
    }

    /// What the file says goes before the settings; who is listed has a level of their own below the
    /// prefix, whoever named the broker.
    static func overlay(_ settings: Settings, file: [String: String], listed: String?) throws -> Settings {
        var settings = settings
        for (name, text) in file { try settings.set(name, to: text) }
        if let listed {
            try settings.set("mqtt.prefix", to: "\(settings.service.mqttPrefix)/\(PlainName.of(listed))")
        }
        return settings
    }
}
