import Bluetooth
import CommandKit
import CommandStore
import Gateway
import HTTPAPI
import Logging
import ServiceLog
import Store
import TrackerDesk

/// The people whom the service serves, and the adapters that they share. They may come and go while it runs.
actor House {
    /// A person who was let in, and what goes on for them.
    private struct Entry {
        var resident: Resident
        var adapter: Adapter
        var page: Person
        var hasDesktop: Bool
        var work: Task<Void, Never>
        /// The person's own socket.
        var door: Task<Void, Never>?
    }

    nonisolated let pages = Household([])
    /// Where a browser finds them.
    nonisolated let address = PageAddress()
    private let speech: ServiceLogOptions?
    private let supervisor: Supervisor
    private let log: Logger
    private let clock = DriverClock.system(wall: { Machine.now() })
    private let hasDesktop: Bool
    private let open: @Sendable (LinkOptions) throws -> any CentralLink
    private var entries: [Entry] = []
    private var plan: ServicePlan?
    private var departed: [Departed] = []
    /// What takes back what brokers keep of who is not served any more.
    private var farewells: [(store: StorePlace, work: Task<Void, Never>)] = []
    /// Who is served right now, as whoever takes leave of another sees it.
    private let present = PresentStores()
    private var adapters: [String: Adapter] = [:]
    private var isClosed = false
    /// Opens a socket for the commands of a person, until it is cancelled.
    private var doors: (@Sendable (_ socket: String, _ person: String) async -> Void)?

    /// - Parameters:
    ///   - speech: how each person's part is told; `nil`: all of it in `log`.
    ///   - hasDesktop: the first person is told things on the desktop of the session.
    ///   - open: makes a person's link.
    init(
        _ speech: ServiceLogOptions?, _ supervisor: Supervisor, log: Logger, hasDesktop: Bool = true,
        open: @escaping @Sendable (LinkOptions) throws -> any CentralLink = { try $0.open() }
    ) {
        self.log = log
        self.open = open
        self.hasDesktop = hasDesktop
        self.speech = speech
        self.supervisor = supervisor
    }

    /// In the order of the list.
    var residents: [Resident] { entries.map(\.resident) }

    /// Goes on with these people: lets in who is new, and out who is not listed any more. Where a store or a link
    /// cannot be opened nobody comes or goes.
    func take(_ plan: ServicePlan) async throws {
        // The desktop is that of whoever runs the service: of the first one listed. Whom it passes to or from is let in
        // anew.
        let host = hasDesktop ? plan.people.first?.name : nil
        func known(_ person: PersonPlan) -> Entry? {
            entries.first {
                $0.resident.planInForce.isInPlace(of: person) && $0.hasDesktop == (person.name == host)
            }
        }
        let comers = plan.people.filter { known($0) == nil }
        // Who comes back is not taken back any more.
        for farewell in farewells where comers.contains(where: { $0.store.isSameFile(as: farewell.store.path) }) {
            farewell.work.cancel()
            await farewell.work.value
        }
        farewells.removeAll { farewell in comers.contains { $0.store.isSameFile(as: farewell.store.path) } }
        var depots: [String: Depot] = [:]
        for comer in comers {
            let open = entries.first { comer.store.isSameFile(as: $0.resident.store.path) }?.resident.store
            depots[comer.name] =
                try open.map { try Depot($0, comer.store, zone: comer.zone) } ?? Depot(comer.store, zone: comer.zone)
        }
        var opened: [String: any CentralLink] = [:]
        for comer in comers {
            let key = try Self.key(comer)
            if adapters[key] == nil, opened[key] == nil { opened[key] = try open(comer.link) }
        }

        let staying = plan.people.compactMap { known($0)?.resident }
        departed.removeAll { gone in plan.people.contains { $0.store.isSameFile(as: gone.store) } }
        for entry in entries where !staying.contains(where: { $0 === entry.resident }) {
            let stays = plan.people.contains { $0.store.isSameFile(as: entry.resident.store.path) }
            if !stays { await remember(entry.resident) }
            await letOut(entry, forGood: !stays)
        }
        for (key, central) in opened {
            let mayPowerCycle = comers.contains { (try? Self.key($0)) == key && $0.link.allowPowerCycle }
            log.debug("Service on \(central.name)\(mayPowerCycle ? ", which may be switched off and on" : "").")
            adapters[key] = Adapter(central, clock: clock) { [weak self] in await self?.bottles ?? HouseholdBottles([])
            }
        }
        var next: [Entry] = []
        var joining: [Entry] = []
        for person in plan.people {
            if let known = known(person) {
                await known.resident.take(person)
                next.append(known)
            } else if let depot = depots[person.name], let adapter = adapters[try Self.key(person)] {
                let entry = await letIn(person, depot, adapter, hasDesktop: person.name == host)
                next.append(entry)
                joining.append(entry)
            }
        }
        // Nobody is polled for before everybody's bottles are known.
        let before = self.plan?.people ?? []
        (entries, self.plan) = (next, plan)
        present.are(next.map(\.resident.store))
        for entry in joining { await entry.adapter.join(entry.resident) }
        for (key, adapter) in adapters where await adapter.isDeserted {
            adapters[key] = nil
            await adapter.close()
        }
        await pages.change(to: entries.map(\.page))
        takeLeave(of: plan, before: before)
    }

    /// Who was served, by this service or by one before it, and is not listed any more: the bottles stay theirs, and
    /// brokers are to keep nothing of the day.
    /// - Parameter before: who was served until now: what lets us in at their phones' servers is known.
    private func takeLeave(of plan: ServicePlan, before: [PersonPlan]) {
        var remembered =
            plan.served == nil
            ? []
            : plan.people.compactMap { one in
                one.listed.map { ServedPeople.One(name: $0, store: one.store.path, link: one.store.person?.link) }
            }
        for one in plan.gone {
            if !departed.contains(where: { one.store.isSameFile(as: $0.store) }), let share = plan.share(of: one),
                let gone = Departed(one.store.path, share)
            {
                departed.append(gone)
            }
            let isDue = Farewell.isDue(one.store)
            if isDue, !farewells.contains(where: { one.store.isSameFile(as: $0.store.path) }) {
                farewells.append(
                    (
                        one.store,
                        Task { [log, present] in await Farewell(plan: one, log: log, present: present).run() }
                    ))
            }
            // Who has neither a bottle nor anything at a broker is forgotten.
            if isDue || departed.contains(where: { one.store.isSameFile(as: $0.store) }) {
                remembered.append(.init(name: one.name, store: one.store.path, link: one.store.person?.link))
            }
        }
        do { try plan.served?.note(remembered) } catch {
            let why = (error as? CommandFailure)?.sentence ?? "\(error)"
            log.warning(
                """
                Whom this service serves cannot be noted, so that who is taken off the list while it is stopped is \
                not let go in order: \(why)
                """
            )
        }
    }

    /// From now on everybody has a socket of their own. A house that closes already opens none: nobody would close it.
    func open(_ doors: @escaping @Sendable (_ socket: String, _ person: String) async -> Void) {
        guard !isClosed else { return }
        self.doors = doors
        for index in entries.indices { entries[index].door = door(entries[index].resident) }
    }

    /// Everybody's bottles are polled as soon as may be.
    func hurry() async {
        for adapter in adapters.values { await adapter.service.hurry() }
    }

    /// What happened lately, in Prometheus' text format.
    func metrics(of people: [String]) async -> String {
        var all: [(person: String?, figures: PollFigures)] = []
        for entry in entries where people.contains(entry.resident.name) {
            let store = entry.resident.store
            let figures = await entry.resident.board.figures(
                of: try? TrackerDesk.ownBottles(of: store), store: (store.bytes, try? store.outboxDepth()))
            all.append((entry.resident.listed, figures))
        }
        return PollFigures.metrics(all)
    }

    /// Whether all polls get on.
    var isOnTime: Bool {
        get async {
            for adapter in adapters.values where await !adapter.service.isOnTime() { return false }
            return true
        }
    }

    /// Everything ends: returns when no poll is under way and no link is open.
    func close() async {
        (isClosed, doors) = (true, nil)
        for entry in entries {
            entry.work.cancel()
            entry.door?.cancel()
        }
        for farewell in farewells { farewell.work.cancel() }
        for adapter in adapters.values { await adapter.close() }
        for entry in entries {
            await entry.door?.value
            await entry.work.value
        }
    }

    private var bottles: HouseholdBottles {
        get async {
            var shares: [HouseholdBottles.Share] = []
            for entry in entries { shares.append(await entry.resident.desk.share()) }
            for index in departed.indices { departed[index].look() }
            return HouseholdBottles(shares + (plan?.neighbourShares ?? []) + departed.map(\.share))
        }
    }

    /// Who goes leaves the bottles at home: a line of the list that is gone for a moment gives nobody another's drinks.
    private func remember(_ resident: Resident) async {
        guard let one = Departed(resident.store.path, await resident.desk.share()) else { return }
        departed.append(one)
        let bottles = one.share.own.compactMap { $0.identities.min() }.joined(separator: ", ")
        log.notice(
            """
            \(one.share.person) is not listed any more, and \(bottles) stays in that store: nobody else's poll \
            takes from it. Say it if it is another's now: bottles = [\"ADDRESS\"] in waterh.toml, or \
            waterh-gateway adopt ADDRESS --person NAME.
            """
        )
    }

    private func letIn(_ plan: PersonPlan, _ depot: Depot, _ adapter: Adapter, hasDesktop: Bool) async -> Entry {
        var log =
            speech?.logger(
                "waterh-gateway", link: (try? "\(plan.link.name)") ?? "",
                isTalkative: plan.link.verbose || Diagnostics.isLively) ?? log
        if let listed = plan.listed { log[metadataKey: "person"] = "\(listed)" }
        let resident = Resident(
            plan, depot, supervisor: supervisor, log: log, clock: clock,
            desktopPages: hasDesktop ? address : nil)
        if depot.store.path != ":memory:",
            ServiceSocket(path: ServiceSocket.own(forStore: depot.store.path).path).isAnswering
        {
            log.warning(
                """
                Another service keeps this store, too. Both poll, and what a bottle gives is stored once; at a \
                broker only one of them is heard. Stop one of them.
                """
            )
        }
        let page = resident.page(await adapter.service)
        return Entry(
            resident: resident, adapter: adapter, page: page, hasDesktop: hasDesktop,
            work: Task { await resident.run(page) }, door: door(resident))
    }

    /// - Parameter forGood: nobody else has the store now.
    private func letOut(_ entry: Entry, forGood: Bool) async {
        entry.resident.clearDesktop()
        if forGood { await entry.resident.leave() }
        entry.door?.cancel()
        await entry.adapter.leave(entry.resident)
        entry.work.cancel()
        await entry.door?.value
        await entry.work.value
    }

    private func door(_ resident: Resident) -> Task<Void, Never>? {
        guard let doors, resident.store.path != ":memory:" else { return nil }
        let (socket, name) = (ServiceSocket.own(forStore: resident.store.path).path, resident.name)
        return Task { await doors(socket, name) }
    }

    private static func key(_ plan: PersonPlan) throws -> String { "\(try plan.link.name)" }
}
