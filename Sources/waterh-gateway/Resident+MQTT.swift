import CommandSupport
import Logging
import HomeAssistant
import Store
import TrackerCore
import TrackerService

extension Resident {
    /// The MQTT publisher, if a broker is configured.
    func outlet(
        _ channel: MQTTChannel, _ service: ServiceClient, canNotify: @escaping @Sendable () -> Bool,
        wrote: @escaping @Sendable () async -> Void
    ) -> MQTTPublisher {
        let (store, plan, watch, log, place) = (store, plan, watch, log, store.path)
        let around = MQTTPublisher.Dependencies(
            tracker: { try plan.tracker(of: store, source: "mqtt", canNotify: canNotify()) },
            overlay: { try plan.file.mqttSettings(over: $0) }, service: service,
            sharesWaterline: { plan.sharesWaterline(store) }, version: ProgramVersion.text, wrote: wrote,
            claim: { client in
                // If the lock cannot be used, the broker detects a second client.
                guard let lock = try? NameLock(Paths.ofSession("\(client).lock")) else { return nil }
                guard lock.isOurs else {
                    throw Refusal(
                        "mqttNameTaken",
                        """
                        Another service uses the MQTT client ID \(client): it publishes this store, or one of which \
                        this one is a copy. \(BrokerAdvice.nameTaken)
                        """,
                        category: .busy)
                }
                return lock
            },
            home: { place == ":memory:" ? nil : Machine.home(of: place) }, watch: { watch },
            say: { word in
                let advice = BrokerAdvice.about(word, store: place).map { " \($0)" } ?? ""
                switch word {
                case .connected(let plan): log.notice("MQTT: connected with \(plan).")
                case .trouble(let trouble): log.warning("MQTT: \(sentence(trouble)) It is tried again.")
                case .nameShared(let words): log.warning("MQTT: \(sentence(words)) It is tried again.\(advice)")
                case .copied(let words), .prefixShared(let words): log.warning("MQTT: \(words)\(advice)")
                case .off: log.notice("MQTT: the settings name no broker any more.")
                case .stays(let words): log.warning("MQTT: \(words)")
                case .denied(let words): log.warning("MQTT: \(words)")
                case .accepted(let words): log.notice("MQTT: \(words)")
                case .ignored(let words): log.warning("MQTT: \(words)")
                }
            })
        return MQTTPublisher(around, channel: channel)
    }
}
