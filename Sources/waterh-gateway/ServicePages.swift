import BottleProtocol
import CommandKit
import CommandStore
import Foundation
import Gateway
import HTTPAPI
import Logging
import Store
import Synchronization
import TrackerCore
import TrackerDesk

/// What the running service shows and takes over HTTP.
struct ServicePages: Sendable {
    let depot: Depot
    let desk: ServiceDesk
    let service: PollService
    let board: PollBoard
    let screen: EventSink
    let reminders: ReminderLoop
    let onlookers: Onlookers
    let log: Logger

    /// The plan in force, for requests of any moment.
    final class Plan: Sendable {
        private let plan: Mutex<ServicePlan>
        init(_ plan: ServicePlan) { self.plan = Mutex(plan) }
        var zone: String? { plan.withLock { $0.zone } }
        var names: [String] { plan.withLock { $0.names } }
        var sharesWaterline: Bool { plan.withLock { $0.sharesWaterline } }
        func change(to new: ServicePlan) { plan.withLock { $0 = new } }
    }

    /// Serves until the task is cancelled: the page where the plan says, and a socket for this user's commands.
    func run(_ plan: ServicePlan, _ inForce: Plan) async {
        let store = depot.store
        let reminders = reminders
        let person = Person(
            name: "me", service: serviceDoor, sharesWaterline: { inForce.sharesWaterline }, wrote: { await reminders.poke() }
        ) {
            try TrackerDesk(store, now: Machine.now(), zone: Depot.choice(inForce.zone), source: "http")
        }
        screen.show(to: person)
        var endpoints: [HTTPServer.Endpoint] = []
        let listen = plan.listen ?? (try? store.settings().service.httpListen) ?? ServiceSettings().httpListen
        if let endpoint = HTTPServer.Endpoint(listen) { endpoints.append(endpoint) }
        let reachable = endpoints
        let board = board
        let host = ProcessInfo.processInfo.hostName
        let server = HTTPServer(
            Household([person]), names: { inForce.names + [host, host + ".local"] }, log: log,
            random: { UInt32.random(in: 0...UInt32.max) }, addresses: { reachable.flatMap(Self.addresses) }, metrics: { await board.metrics })
        let socket = ServiceSocket.path(forStore: store.path)
        if store.path != ":memory:", let endpoint = HTTPServer.Endpoint("unix:\(socket)") { endpoints.append(endpoint) }
        let log = log
        await WebPages(server: server, log: log) { log.debug("The page is at \($0)") }.run(on: endpoints)
    }

    private var serviceDoor: ServiceDoor {
        let (service, board, desk, store, onlookers) = (service, board, desk, depot.store, onlookers)
        return ServiceDoor(
            status: {
                let isWelcome = (try? store.profile()?.onboardedAt) ?? nil
                return await board.status(next: await service.untilNextPoll(), setupDone: isWelcome != nil, version: ProgramVersion.text)
            },
            pollNow: { await service.hurry() },
            recentPolls: { await board.recent },
            send: { words in
                let options: PollOptions
                do {
                    options = try await desk.commandOptions(words)
                } catch let failure as CommandFailure {
                    throw WrongInput("notACommand", failure.sentence)
                }
                let report = await service.run(options)
                if let failure = report.failure { throw Refusal("bottle", "\(failure.kind.text): \(sentence(failure.sentence))") }
                return report.answers.map { $0.sent ? Send.words($0) : "The bottle refused to be written to." }.joined(separator: " ")
            },
            look: { look in
                switch look {
                case .begins: if onlookers.begin() { await service.wake() }
                case .once: if onlookers.glance() { await service.wake() }
                case .ends: onlookers.end()
                }
            })
    }

    /// Where other machines find a page that is shown at this endpoint.
    private static func addresses(_ endpoint: HTTPServer.Endpoint) -> [String] {
        guard case .tcp(let host, let port) = endpoint else { return [] }
        switch host {
        case "0.0.0.0", "::": return outsideAddresses().map { "http://\($0):\(port)/" }
        case "localhost", "::1": return []
        default: return host.hasPrefix("127.") ? [] : ["http://\(host.contains(":") ? "[\(host)]" : host):\(port)/"]
        }
    }

    /// This machine's IPv4 addresses that others can reach.
    private static func outsideAddresses() -> [String] {
        var first: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&first) == 0 else { return [] }
        defer { freeifaddrs(first) }
        var found: [String] = []
        var next = first
        while let entry = next {
            next = entry.pointee.ifa_next
            let isLoopback = entry.pointee.ifa_flags & UInt32(IFF_LOOPBACK) != 0
            guard let address = entry.pointee.ifa_addr, address.pointee.sa_family == sa_family_t(AF_INET), !isLoopback else { continue }
            var number = address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { $0.pointee.sin_addr }
            let bytes = withUnsafeBytes(of: &number) { Array($0) }
            found.append(bytes.map(String.init).joined(separator: "."))
        }
        return found
    }
}
