import CommandSupport
import HomeAssistant
import Logging
import Notifications
import PostgreSQL
import Store
import TrackerCore
import TrackerService

// The publishers and senders of the running service.
extension ServicePlan {
    func senders(_ store: TrackerStore, _ watch: StoreWatch?, log: Logger) -> [NotificationSender] {
        let tracker: @Sendable () throws -> TrackerAPI = { try self.tracker(of: store, source: "pocket") }
        let context = PublisherContext(
            store, tracker: tracker,
            settings: { try file.notificationSettings(over: tracker().store.settings()).service },
            sharesWaterline: { sharesWaterline(store) }, watch: watch, log: log)
        return NotificationChannel.allCases.map { NotificationSender($0, context, instance: instance) }
    }

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
            guard let lock = try? ProcessLock(Paths.runtimeFile("\(client).lock")) else { return nil }
            guard lock.isOurs else {
                throw Refusal(
                    "mqttNameTaken",
                    """
                    Another service uses the MQTT client ID \(client): it publishes this store, or the store from \
                    which this one was copied. \(BrokerAdvice.nameTaken)
                    """,
                    category: .busy)
            }
            return lock
        }
        let path = store.path
        dependencies.publisherLocation = { path == ":memory:" ? nil : Machine.location(of: path) }
        return dependencies
    }

    /// The publisher of the database; `nil` if the configuration has none.
    func postgresPublisher(_ store: TrackerStore, _ watch: StoreWatch?, log: Logger) -> PostgresPublisher? {
        guard let database else {
            PostgresPublisher.turnOff(store)
            return nil
        }
        return PostgresPublisher(
            database, tracker: { try tracker(of: store, source: "postgres") }, version: ProgramVersion.text,
            watch: watch, log: log)
    }
}
