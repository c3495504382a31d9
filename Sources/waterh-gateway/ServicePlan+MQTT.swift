import CommandSupport
import Logging
import HomeAssistant
import Store
import TrackerCore
import TrackerService

extension ServicePlan {
    /// The environment of the MQTT publisher.
    func mqttDependencies(
        _ store: TrackerStore, _ service: ServiceClient, _ reminders: ReminderLoop, _ watch: StoreWatch?, log: Logger
    ) -> MQTTPublisher.Dependencies {
        let path = store.path
        return MQTTPublisher.Dependencies(
            tracker: { try tracker(of: store, source: "mqtt", canNotify: reminders.hasReceivers) },
            overlay: { try file.mqttSettings(over: $0) }, service: service,
            sharesWaterline: { sharesWaterline(store) }, version: ProgramVersion.text,
            storeChanged: { await reminders.checkNow() },
            claim: { client in
                // If the lock cannot be used, the broker detects a second client.
                guard let lock = try? ProcessLock(Paths.ofSession("\(client).lock")) else { return nil }
                guard lock.isOurs else {
                    throw Refusal(
                        "mqttNameTaken",
                        """
                        Another service uses the MQTT client ID \(client): it publishes this store, or the store \
                        from which this one was copied. \(BrokerAdvice.nameTaken)
                        """,
                        category: .busy)
                }
                return lock
            },
            storeOrigin: { path == ":memory:" ? nil : Machine.storeOrigin(of: path) }, watch: watch,
            log: { event in
                let advice = BrokerAdvice.about(event, store: path).map { " \($0)" } ?? ""
                switch event {
                case .connected(let plan): log.notice("MQTT: connected with \(plan).")
                case .failed(let reason): log.warning("MQTT: \(asSentence(reason)) It is retried automatically.")
                case .clientIDShared(let text):
                    log.warning("MQTT: \(asSentence(text)) It is retried automatically.\(advice)")
                case .copied(let text), .prefixShared(let text): log.warning("MQTT: \(text)\(advice)")
                case .off: log.notice("MQTT: no broker is configured now.")
                case .dataRemains(let text), .denied(let text), .ignored(let text): log.warning("MQTT: \(text)")
                case .accepted(let text): log.notice("MQTT: \(text)")
                }
            })
    }
}
