import BottleProtocol
import CommandSupport
import Foundation
import Store
import WebServer
import TrackerService
import Notifications
import TrackerCore

/// What the service was asked to do: flags over environment over file.
struct ServicePlan: Sendable {
    /// The instance of `waterh-gateway@.service`; `nil` for every other service.
    let instance: String?
    let link: LinkOptions
    let store: StorePlace
    /// Names or addresses of the bottles; none: those that are the store's own.
    let bottles: [String]
    /// Whether a bottle in range can be another person's.
    let hasNeighbours: Bool
    /// The configuration says that this computer's clock is right.
    let trustsClock: Bool
    let zone: String?
    let dialect: RecordDialect?
    let keep: Bool
    private let sharesWaterline: Bool
    /// What the file says of MQTT, over the settings.
    let mqtt: [String: String]
    /// What it says of the person's phone, likewise.
    let pocket: [String: String]
    /// Where the page is shown; `nil` where nobody says but the settings.
    let listen: String?
    /// What the user who started the service has to know.
    let remarks: [String]

    /// Whether Waterline is shown beyond this machine: by the configuration, or by the setting `waterline.shared`.
    func sharesWaterline(_ store: TrackerStore) -> Bool {
        sharesWaterline || (try? store.settings().isWaterlineShared) == true
    }

    init(_ link: LinkOptions, _ place: StoreOptions, keep: Bool, listen: String?) throws {
        let file = try Configuration.load(place.config)
        instance = file.instance
        var store = try place.place(file)
        // Nobody named a store, and the one of the system's service is not this user's to write: a service of one's
        // own keeps a day of one's own.
        if store.origin == .service, store.isShut(for: .writing) {
            remarks = [
                """
                The system's service keeps another day in \(store.path), which is not yours to write: this service \
                keeps yours in \(Paths.store).
                """
            ]
            store = StorePlace(path: Paths.store, origin: .own, beside: store.path)
        } else {
            remarks = []
        }
        store.units = file.units
        self.store = store
        var link = link
        link.fill(file)
        self.link = link
        bottles = link.wantedBottle.map { [$0] } ?? file.bottles
        hasNeighbours = try link.name.hasNeighbours
        trustsClock = file.trustClock == true
        zone = place.namedZone(file)
        dialect = place.dialect ?? file.dialect
        self.keep = keep || file.keep == true
        sharesWaterline = file.shareWaterline ?? false
        mqtt = file.mqtt
        var pocket = file.pocket
        if let place = file.publicURL { pocket["http.publicUrl"] = place }
        self.pocket = pocket
        self.listen = listen ?? Machine.variable("WATERH_LISTEN") ?? file.listen
        if let listen = self.listen, listen != "off", HTTPServer.Endpoint(listen) == nil {
            throw CommandFailure(
                .wrongUse, "\"\(listen)\" is no place for the page.",
                advice: "Write 127.0.0.1:8077, 0.0.0.0:8077, [::1]:8077, or off.")
        }
        // A zone or a link that does not exist is told now, and not swallowed at a later poll.
        _ = (try Depot.choice(zone), try link.name)
        try checkPocket()
    }

    /// What the file says of a phone is told when it is wrong, as far as it can be known without the settings.
    private func checkPocket() throws {
        let settings = try pocketSettings(over: Settings()).service
        for service in NotificationChannel.allCases {
            do { _ = try NotificationTarget(service, settings, person: instance) } catch let problem as any Problem {
                throw CommandFailure(
                    .badInput, "[\(service.rawValue)] of the configuration: \(problem.sentence)",
                    advice: "Fix it, then start the service again.")
            }
        }
    }

    /// What the file says goes before the settings.
    func pocketSettings(over settings: Settings) throws -> Settings {
        var settings = settings
        for (name, text) in pocket { try settings.set(name, to: text) }
        return settings
    }

    /// What the service does, in one line: which store, over which link.
    var words: String {
        """
        the day in \(store.path); bottles over \((try? "\(link.name)") ?? "")\(keep ? "; nothing is acknowledged" : "")
        """
    }
}
