import BottleProtocol
import CommandSupport
import PostgreSQL
import Store
import WebServer
import TrackerService
import Notifications
import TrackerCore

/// The options of the service from the command line, the environment and the configuration file.
struct ServicePlan: Sendable {
    let file: Configuration
    let link: LinkOptions
    let store: StoreLocation
    let bottles: [String]
    /// Whether a bottle in range can belong to another person.
    let hasNeighbours: Bool
    let zone: String?
    let dialect: RecordDialect?
    let keep: Bool
    let listen: String?
    /// The PostgreSQL database of the configuration; `nil` if it has none.
    let database: PostgresPlan?
    /// Messages for the user who started the service.
    let remarks: [String]

    /// The instance of `waterh-gateway@.service`, or `nil`.
    var instance: String? { file.instance }
    /// Whether the configuration confirms this computer's clock.
    var trustsClock: Bool { file.trustClock == true }

    /// Whether other machines can see Waterline: by the configuration, or by the setting `waterline.shared`.
    func sharesWaterline(_ store: TrackerStore) -> Bool {
        file.shareWaterline == true || (try? store.settings().isWaterlineShared) == true
    }

    /// The application API of a store with the current time and time zone.
    func tracker(of store: TrackerStore, source: String, canNotify: Bool = false) throws -> TrackerAPI {
        try TrackerAPI(
            store, now: Machine.now(), zone: StoreProvider.choice(zone), source: source, canNotify: canNotify)
    }

    init(_ link: LinkOptions, _ storeOptions: StoreOptions, keep: Bool, listen: String?) throws {
        let (file, found) = try storeOptions.location.load()
        var store = found
        self.file = file
        // If this user cannot write the system service's store, the user's own store is used.
        if store.origin == .service, store.isDenied(for: .writing) {
            remarks = [
                """
                The system service uses \(store.path), which this user cannot write: this service uses \
                \(Paths.store).
                """
            ]
            store = StoreLocation(path: Paths.store, origin: .own, serviceStore: store.path, units: file.units)
        } else {
            remarks = []
        }
        self.store = store
        let link = link.filled(from: file)
        self.link = link
        bottles = link.selectedBottle.map { [$0] } ?? file.bottles
        hasNeighbours = try link.name.hasNeighbours
        zone = storeOptions.namedZone(file)
        dialect = storeOptions.dialect ?? file.dialect
        self.keep = keep || file.keep == true
        self.listen = listen ?? Machine.variable("WATERH_LISTEN") ?? file.listen
        if let listen = self.listen, listen != "off", HTTPServer.Endpoint(listen) == nil {
            throw CommandFailure(
                .wrongUse, "invalid --listen '\(listen)': expected an address with a port, or off",
                advice: "Use 127.0.0.1:8077, 0.0.0.0:8077, [::1]:8077, or off.")
        }
        // Fail at the start if the zone or the link is invalid.
        _ = (try StoreProvider.choice(zone), try link.name)
        database = try file.postgresPlan()
        try checkNotifications()
    }

    /// Validates the notification settings of the file.
    private func checkNotifications() throws {
        let settings = try file.notificationSettings(over: Settings()).service
        for service in NotificationChannel.allCases {
            do { _ = try NotificationTarget(service, settings, instance: instance) } catch let problem as any Problem {
                throw CommandFailure(
                    .badInput, "invalid [\(service.rawValue)] in the configuration: \(problem.sentence)",
                    advice: "Fix the value, then restart the service.")
            }
        }
    }

    /// The plan in one line: store and link.
    var summary: String {
        "the store \(store.path); bottles over \((try? "\(link.name)") ?? "")\(keep ? "; nothing is acknowledged" : "")"
    }
}

extension Configuration {
    /// The database of the table `[postgres]`; `nil` without the table.
    func postgresPlan() throws -> PostgresPlan? {
        do { return try PostgresPlan(postgres) } catch let problem as any Problem {
            throw CommandFailure(
                .badInput, "invalid [postgres] in the configuration: \(problem.sentence)",
                advice: "Fix the value, then restart the service.")
        }
    }

    // The settings of the file take precedence over those of the store.

    func notificationSettings(over stored: Settings) throws -> Settings {
        var changed = stored
        for (name, text) in settings where !name.hasPrefix("mqtt.") { try changed.set(name, to: text) }
        if let publicURL { try changed.set("http.publicUrl", to: publicURL) }
        return changed
    }

    /// The MQTT settings. An instance has its own topic level.
    func mqttSettings(over stored: Settings) throws -> Settings {
        var changed = stored
        for (name, text) in settings where name.hasPrefix("mqtt.") { try changed.set(name, to: text) }
        if let instance {
            try changed.set("mqtt.prefix", to: "\(changed.service.mqttPrefix)/\(PlainName.of(instance))")
        }
        return changed
    }
}
