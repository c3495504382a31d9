import Bluetooth
import BottleProtocol

/// The course of a day with a bottle, in the order that loses nothing:
///
/// 1. the first connection, of which alone a recording holds discovery (bluetoothd keeps the table from then on), and
///    the log without an acknowledgement;
/// 2. the maker's app, which has something left to take as long as nothing is acknowledged;
/// 3. known sips, reports, the log again;
/// 4. questions and commands, each with what the bottle has already;
/// 5. storing, and only then acknowledgements;
/// 6. the next year; and what makes it hang up.
///
/// Whatever ends it, `day` is what was seen until then.
public actor DayCourse {
    /// What was seen until now.
    public private(set) var day: BenchDayRecord
    private let surroundings: DaySurroundings
    private var limits: DayLimits
    private var connections = 0
    private var peer: Advertisement?
    /// Records that are stored where they count.
    private var stored: Set<[UInt8]> = []
    /// What a person said of clocks that are days apart; `nil`: not asked yet.
    private var clockAnswer: Bool?

    /// Of a day at that link. Nothing happens before it is run.
    public init(link: String, hasRadio: Bool, _ surroundings: DaySurroundings, limits: DayLimits = DayLimits()) {
        (day, self.surroundings, self.limits) = (BenchDayRecord(link: link, hasRadio: hasRadio), surroundings, limits)
    }

    /// What this project never sends to a bottle on a bench.
    public static let neverTried = [
        "Firmware: never written.", "Clearing the log unseen (PT 1C 05): it would lose drinks.",
        "Leaving factory mode (PT F4): nobody knows the way back.",
        "Text on the screen (PT 20): its format is not known.",
    ]

    /// - Throws: `LinkError`, `CancellationError`, and what the surroundings throw. What was recorded stays.
    public func run() async throws {
        try await meet()
        try await letAppHaveItsTurn()
        try await drink()
        try await command()
        guard
            await isAllowed(
                "acknowledge", "From here on the bottle is told to forget what was stored before. Go on?", usual: true)
        else {
            day.omissions.append("Acknowledgements and the next year: they were not allowed.")
            return try await hangUp()
        }
        try await acknowledge()
        try await enterNextYear()
        try await hangUp()
    }

    // MARK: - Chapters

    private func meet() async throws {
        surroundings.say("The first connection: table, MTU, what it says unasked, snapshot, log.")
        try await chapter("1-first-connection", isFirst: true) { bottle in
            self.add(try await bottle.listen())
            self.add(try await bottle.snapshot())
            try await self.addLog(try await bottle.dump())
        }
        if let address = peer?.address { day.advertised = await surroundings.advertised(address) }
    }

    private func letAppHaveItsTurn() async throws {
        let text =
            """
            Now the maker's app: switch on its telephone's \"Bluetooth HCI snoop log\", let it sync, and keep the \
            log (adb bugreport). Nothing is acknowledged yet, so it has all to take.
            """
        guard await surroundings.person.answer(DayQuestion("app", text, .done, act: .app)) != nil else {
            day.omissions.append("The maker's app: it was left out.")
            return
        }
        try await chapter("2-after-the-app") { bottle in try await self.addLog(try await bottle.dump(.dumpAfterApp)) }
    }

    private func drink() async throws {
        surroundings.say("Known amounts, by a measuring cup.")
        try await chapter("3-known-sips") { bottle in
            self.add(try await bottle.snapshot(.soon))
            for ml in [100, 200, 300] {
                let asked = DayQuestion(
                    "sip\(ml)",
                    "Drink \(ml) ml out of the bottle, wait until it has counted them, and type how many it were.",
                    .amount(ml), act: .sip(ml: ml))
                try await self.live(asked, on: bottle)
                try Task.checkCancellation()
            }
            try await self.live(DayQuestion("press", "Press the bottle's button.", .done, act: .press), on: bottle)
            try await self.live(
                DayQuestion("chargingOn", "Put it on its charger.", .done, act: .charging(true)), on: bottle)
            try await self.live(
                DayQuestion("chargingOff", "Take it off again.", .done, act: .charging(false)), on: bottle)
            try await self.addLog(try await bottle.dump(.dumpAfterSips))
            self.add(try await bottle.snapshot())
            try await self.addLog(try await bottle.dump(.dumpAgain))
        }
    }

    private func live(_ question: DayQuestion, on bottle: DayBottle) async throws {
        guard let act = question.act else { return }
        let answered = Answer()
        let step = try await bottle.live(act) { [surroundings] in
            await answered.set(surroundings.person.answer(question))
        }
        guard let text = await answered.text else {
            day.omissions.append("\(question.word): it was left out.")
            return
        }
        add(step)
        if case .sip(let ml) = act { day.sips.append(DaySip(ml: Int(text) ?? ml, at: surroundings.wall())) }
    }

    private func command() async throws {
        surroundings.say("Questions and commands, each with what the bottle has already.")
        try await chapter("4-commands") { bottle in
            self.add(try await bottle.snapshot())
            for byte: UInt8 in [3, 4, 1] { try await self.addLog(try await bottle.bare(byte)) }
            for type: EntryType in [
                .temperature, .battery, .clock, .amount, .goal, .level, .charging, .language, .reminder, .tds,
            ] {
                self.add(try await bottle.send(.get(type)))
            }
            guard let snapshot = self.day.snapshots.last?.snapshot else {
                self.omit("Commands: no snapshot told what the bottle has.")
                return
            }
            let goal = snapshot.goalMl.flatMap(UInt16.init(exactly:))
            let wall = self.surroundings.wall
            if let goal { self.add(try await bottle.send(.goal(ml: goal))) }
            if let reminder = snapshot.reminder { self.add(try await bottle.send(.reminder(reminder))) }
            let maySetClock = await self.maySetClock()
            if maySetClock { self.add(try await bottle.send(.clock(wall()))) }
            self.add(try await bottle.snapshot())
            if maySetClock, let goal, let reminder = snapshot.reminder {
                self.add(try await bottle.send(.settings(goalMl: goal, clock: wall(), reminder: reminder)))
            }
            if let language = snapshot.language {
                self.add(try await bottle.send(.language(language), isAnswered: false))
            }
            if let amount = snapshot.amountMl.flatMap(UInt16.init(exactly:)) {
                self.add(try await bottle.send(.amount(ml: amount), isAnswered: false))
            }
            try await self.show(.flash, "flash", "Did its light flash just now?", on: bottle)
            if await self.isAllowed(
                "light", "The light's colour cannot be read, so trying it changes it, to blue. Try it?", usual: true)
            {
                try await self.show(
                    .light(ReminderLight(mode: 0, red: 0, green: 0, blue: 0xFF)), "blue", "Is its light blue now?",
                    on: bottle)
            }
            if await self.isAllowed(
                "register", "Registering asks for its button, and may be seen by the maker's app. Try it?", usual: false
            ) {
                self.add(try await bottle.send(.register))
                try await self.live(
                    DayQuestion("pressToRegister", "Press the bottle's button.", .done, act: .press), on: bottle)
            }
        }
    }

    /// Whether this computer may tell the bottle the time: one of two clocks that are days apart is wrong, and here
    /// only a person knows which.
    private func maySetClock() async -> Bool {
        if let clockAnswer { return clockAnswer }
        guard let last = day.snapshots.last(where: { $0.snapshot.clock != nil }), let bottle = last.snapshot.clock,
            let shown = bottle.wallSeconds, let now = last.step.at.wallSeconds,
            (shown - now).magnitude > 86_400
        else { return true }
        let question =
            """
            The bottle's clock says \(bottle), this computer's \(last.step.at): one of them is wrong. Set the \
            bottle's by this computer's?
            """
        let answer = await isAllowed("clock", question, usual: false)
        if !answer {
            omit(
                "Setting the clock: it says \(bottle), this computer's \(last.step.at), and nobody said which is right."
            )
        }
        clockAnswer = answer
        return answer
    }

    /// A command of which only a person sees what it does.
    private func show(_ command: HostCommand, _ word: String, _ question: String, on bottle: DayBottle) async throws {
        add(try await bottle.send(command, isAnswered: false))
        day.seen[word] = await surroundings.person.answer(DayQuestion(word, question, .yesNo(true))).map(Self.isYes)
    }

    private func acknowledge() async throws {
        surroundings.say("Storing the log; then acknowledgements, one after the other.")
        do {
            stored = try await surroundings.store()
        } catch let error as CancellationError {
            throw error
        } catch {
            day.omissions.append("Acknowledgements: the log could not be stored (\(error)).")
            return
        }
        try await chapter("5-acknowledgements") { bottle in
            // What it told last is what it has, as far as anybody knows: nothing was acknowledged since.
            guard let before = self.lastLog, try await self.acknowledge(before, .blind, on: bottle) else { return }
            guard let second = self.lastLog, try await self.acknowledge(second, .one, on: bottle) else { return }
            guard let third = self.lastLog else { return }
            _ = try await self.acknowledge(third, .all(third.records.count), on: bottle)
        }
    }

    /// Only what is stored is acknowledged, and only of a dump that came to its end.
    /// - Returns: whether something was.
    private func acknowledge(_ log: DayLog, _ what: DayAcknowledgement, on bottle: DayBottle) async throws -> Bool {
        guard log.isWhole, !log.records.isEmpty else {
            day.omissions.append(
                "An acknowledgement (\(what)): the dump before it \(log.isWhole ? "was empty" : "was not whole").")
            return false
        }
        guard stored.isSuperset(of: log.records) else {
            day.omissions.append("An acknowledgement (\(what)): the bottle has records that are not stored yet.")
            return false
        }
        let count = if case .all(let count) = what { count } else { 1 }
        guard let bytes = UInt16(exactly: count * DrinkRecord.size) else { return false }
        add(try await bottle.send(.acknowledge(bytes: bytes), isAnswered: false))
        try await addLog(try await bottle.dump(.dumpAfterAcknowledgement(what)))
        return true
    }

    private func enterNextYear() async throws {
        guard await maySetClock() else { return omit("The next year: the bottle's clock is not to be set.") }
        guard let log = lastLog, log.records.isEmpty else {
            day.omissions.append(
                "The next year: the log is not empty, and a record of a wrong year must not stay among others.")
            return
        }
        let text =
            """
            The last question, of byte 0: the bottle's clock goes into the next year for one sip of about 50 ml, \
            which counts nowhere and is taken out of its log. Try it?
            """
        guard await isAllowed("nextYear", text, usual: true) else {
            return day.omissions.append("The next year: it was not allowed.")
        }
        try await chapter("6-next-year") { bottle in
            // The question may have waited for hours, and somebody was thirsty.
            try await self.addLog(try await bottle.dump())
            guard let log = self.lastLog, log.isWhole, log.records.isEmpty else {
                return self.omit(
                    """
                    The next year: the bottle's log is not empty any more, and a record of a wrong year must not \
                    stay among others.
                    """
                )
            }
            let wall = self.surroundings.wall
            let now = wall()
            // A month and a day that are not today's tell this record from others, also where byte 0 is no year.
            let date: UInt8 = now.month == 2 ? 3 : 2
            let next = BottleClock(yearByte: now.yearByte + 1, month: date, day: date, hour: 12, minute: 0, second: 0)
            self.add(try await bottle.send(.clock(next)))
            // Whoever pulls the plug now leaves it so.
            self.surroundings.say(
                """
                The bottle's clock is in the next year until that is done. Should this be torn off, a poll that is \
                told to trust this computer's clock sets it right.
                """
            )
            do {
                try await self.live(
                    DayQuestion(
                        "sipNextYear", "Drink about 50 ml, and wait until it has counted them.", .done,
                        act: .sip(ml: 50)), on: bottle)
                try await self.addLog(try await bottle.dump(.dumpOfNextYear))
            } catch {
                // Whatever happens, the clock goes back.
                await Task { _ = try? await bottle.send(.clock(wall())) }.value
                self.omitStay("it broke off")
                throw error
            }
            self.add(try await bottle.send(.clock(wall())))
            guard let log = self.lastLog, log.isWhole else { return self.omitStay("its log did not come whole") }
            guard !log.records.isEmpty else { return }
            guard log.records.count == 1, log.records[0][1...2].elementsEqual([date, date]) else {
                return self.omitStay(
                    log.records.count == 1
                        ? "the bottle has another record"
                        : "the bottle has \(log.records.count) records, and not all are that one")
            }
            // It is in the folder: that is where this one belongs.
            self.add(try await bottle.send(.acknowledge(bytes: UInt16(DrinkRecord.size)), isAnswered: false))
        }
        _ = day.sips.popLast()
    }

    private func omitStay(_ reason: String) {
        omit(
            """
            The sip of the next year was not acknowledged (\(reason)): it may be in the bottle still. The next \
            poll stores it, and it counts nowhere.
            """
        )
    }

    private func hangUp() async throws {
        try await chapter("7-hang-up") { bottle in self.add(try await bottle.hangUp()) }
    }

    // MARK: - One connection

    /// A connection that breaks off costs its chapter, and the day goes on; without the first there is no day, so it is
    /// tried again.
    private func chapter(_ name: String, isFirst: Bool = false, _ body: (DayBottle) async throws -> Void) async throws {
        for attempt in 1...(isFirst ? Self.firstAttempts : 1) {
            do {
                return try await once(attempt == 1 ? name : "\(name)-\(attempt)", isFirst: isFirst, body)
            } catch let error as LinkError {
                surroundings.say("\(name): \(error)")
                guard !isFirst || attempt == Self.firstAttempts else { continue }
                // Who has shown its table can be asked the rest.
                if isFirst, day.profile == nil { throw error }
                day.omissions.append("\(name): it broke off (\(error.sentence)).")
            }
        }
    }

    private static let firstAttempts = 3

    private func once(_ name: String, isFirst: Bool, _ body: (DayBottle) async throws -> Void) async throws {
        try Task.checkCancellation()
        let link = try await surroundings.open(name)
        let client = DayClient(link, clock: surroundings.clock)
        do {
            let bottle = try await connect(client, isFirst: isFirst)
            do {
                try await body(bottle)
            } catch let error as LinkError {
                // Half a log is no dump that could be judged, and its records are drinks.
                if let step = await bottle.brokenOff, step.kind.isDump, let response = day.response {
                    let records = DayLog(step, from: response).records
                    if !records.isEmpty { try await surroundings.keep(records) }
                }
                throw error
            }
            limits.answer = await bottle.limits.answer
        } catch {
            await client.close()
            try? await surroundings.close(name)
            throw error
        }
        await client.close()
        try await surroundings.close(name)
    }

    private func connect(_ client: DayClient, isFirst: Bool) async throws -> DayBottle {
        let start = surroundings.clock.now()
        let known = peer
        let isWanted = surroundings.isWanted
        let found = try await client.find(within: limits.find) { seen in
            known.map { $0.peer == seen.peer } ?? isWanted(seen)
        }
        if isFirst {
            (day.advertisement, day.name) = (found, found.name)
            day.seenAfter = start.duration(to: surroundings.clock.now())
            peer = found
            if day.hasRadio { try await client.watch(for: limits.advertising) }
        }
        try await client.connect(found.peer, within: limits.connect)
        connections += 1
        let services = try await client.discover(within: limits.request)
        if isFirst { try await note(services, client) }
        let bottle = try DayBottle(
            client, services, connection: connections, limits: limits, clock: surroundings.clock,
            wall: surroundings.wall)
        day.profile = bottle.profile
        if isFirst {
            for other in day.others { try? await client.subscribe(other.handle, within: limits.request) }
        }
        try await bottle.subscribe()
        if isFirst { day.mtu = await client.mtu }
        return bottle
    }

    private func note(_ services: [RemoteService], _ client: DayClient) async throws {
        day.services = services
        let all = services.flatMap(\.characteristics)
        func text(_ uuid: BluetoothUUID) async -> String? {
            guard let found = all.first(where: { $0.uuid == uuid }),
                let bytes = try? await client.read(found.handle, within: limits.request)
            else { return nil }
            return String(validating: bytes, as: UTF8.self)
        }
        day.identity = day.advertisement?.address?.description
        if day.identity == nil { day.identity = await text(0x2A25) }
        if day.name == nil { day.name = await text(0x2A00) }
    }

    // MARK: - Notes

    private func add(_ step: DayStep) { day.steps.append(step) }

    /// A dump is written down before anything else happens.
    private func addLog(_ step: DayStep) async throws {
        add(step)
        guard let response = day.response else { return }
        let log = DayLog(step, from: response)
        if !log.records.isEmpty { try await surroundings.keep(log.records) }
    }

    private var lastLog: DayLog? { day.logs().last?.log }

    private func omit(_ sentence: String) { day.omissions.append(sentence) }

    private func isAllowed(_ word: String, _ text: String, usual: Bool) async -> Bool {
        await surroundings.person.answer(DayQuestion(word, text, .yesNo(usual))).map(Self.isYes) ?? false
    }

    private static func isYes(_ text: String) -> Bool { text.lowercased().hasPrefix("y") }
}

/// What a person said while the bottle was listened to.
private actor Answer {
    private(set) var text: String?
    func set(_ text: String?) { self.text = text }
}
