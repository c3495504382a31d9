import CommandSupport
import HomeAssistant
import Logging
import Store
import TrackerCore
import TrackerService

extension ServicePlan {
    /// The environment of the MQTT publisher.
    func mqttDependencies(
        _ store: TrackerStore, _ service: ServiceClient, _ reminders: ReminderLoop, _ watch: StoreWatch?, log: Logger
    ) -> MQTTPublisher.Dependencies {
        let tracker: @Sendable () throws -> TrackerAPI = {
            try self.tracker(of: store, source: "mqtt", canNotify: reminders.hasReceivers)
        }
        let context = PublisherContext(
            store, tracker: tracker, settings: { try file.mqttSettings(over: tracker().store.settings()).service },
            sharesWaterline: { sharesWaterline(store) }, watch: watch, log: log)
        var dependencies = MQTTPublisher.Dependencies(context, service: service, version: ProgramVersion.text)
        dependencies.storeChanged = { await reminders.checkNow() }
        dependencies.claim = { client in
            // If the lock cannot be used, the broker detects a second client.
            guard let lock = try? ProcessLock(Paths.ofSession("\(client).lock")) else { return nil }
            guard lock.isOurs else {
                throw Refusal(
                    "mqttNameTaken",
                    """
                    Another service uses the MQTT client ID \(client): it publishes this store, or the store from which \
                    this one was copied. \(BrokerAdvice.nameTaken)
                    """,
                    category: .busy)
            }
            return lock
        }
        let path = store.path
        dependencies.storeOrigin = { path == ":memory:" ? nil : Machine.storeOrigin(of: path) }
        return dependencies
    }
}
