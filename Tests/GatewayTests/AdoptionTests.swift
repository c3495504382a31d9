import BottleProtocol
import Bluetooth
import Gateway
import GatewaySupport
import Testing
import TrackerCore

/// The owner of a bottle after a poll: a store adopts only a bottle that answered, and a capture does not count.
@Suite struct AdoptionTests {
    @Test func `a capture neither adopts a bottle, sets an alias nor updates its state`() throws {
        let journal = MemoryJournal()
        for _ in 1...2 {
            let report = try polled(
                ScriptedBottle(records: drinks(3)),
                options: options {
                    ($0.alias, $0.ownBottles) = (
                        "kitchen", [AdoptedBottle(identities: ["A4:C1:38:09:09:09"], aliases: ["kitchen"])]
                    )
                    $0.markAsReplay()
                }, journal: journal
            ).report
            #expect(report.failure == nil && !report.isAdopted && report.received == 3 && report.bottle == ownAddress)
            #expect(journal.own.isEmpty && journal.entries.count == 3)
        }
        #expect(try journal.storedState(of: BottleNames(ownAddress)).lastCompletePoll == nil)
        #expect(journal.polls.allSatisfy { $0.batteryPercent == nil && $0.clockDriftSeconds == nil })
        // The bottle itself, polled later, is adopted, and its drinks are known.
        let report = try polled(
            ScriptedBottle(records: drinks(4)), options: options { $0.alias = "kitchen" }, journal: journal
        ).report
        #expect(
            report.isAdopted && report.new == 1 && report.duplicates == 3 && journal.own == [[ownAddress, "kitchen"]])
    }

    @Test func `a bottle that connects and never answers is not adopted`() throws {
        let journal = MemoryJournal()
        var peer = ScriptedBottle(records: drinks(3))
        peer.answersLog = false
        peer.ignoredCommands = .max
        let report = try polled(peer, options: options { $0.alias = "kitchen" }, journal: journal).report
        #expect(report.failure?.kind == .didNotAnswer && !report.isAdopted, "\(String(describing: report.failure))")
        #expect(journal.own.isEmpty && journal.polls.isEmpty && journal.entries.isEmpty)
    }

    @Test(arguments: BottleProfile.allCases) func `a bottle with an empty log is adopted`(_ profile: BottleProfile)
        throws
    {
        let (rig, report) = try polled(ScriptedBottle(profile))
        #expect(report.failure == nil && report.isAdopted && rig.journal.own == [[ownAddress]], "\(report)")
    }

    /// The adoption precedes the acknowledgement.
    @Test func `a gateway killed at any effect adopts before it acknowledges`() throws {
        var (isThrough, effects) = (false, 0)
        while !isThrough {
            effects += 1
            try #require(effects < 500)
            var rig = EngineRig(options: options(), peer: ScriptedBottle(records: drinks(5)), start: evening)
            rig.run(effects: effects)
            #expect(rig.acknowledgements.isEmpty || !rig.journal.own.isEmpty, "killed after \(effects) effects")
            isThrough = !rig.journal.polls.isEmpty
        }
    }

    /// `adopt --release` during a poll, before any of its effects: stored records stay, no further acknowledgement
    /// follows, and the store does not adopt the bottle again. Only an effect that the journal has just permitted can
    /// be in progress.
    @Test func `a bottle released during its poll stays released`() throws {
        let own = [AdoptedBottle(identities: [ownAddress])]
        var (number, released, refused) = (0, 0, 0)
        while true {
            let journal = MemoryJournal()
            try journal.adopt(BottleNames(ownAddress))
            let (rig, report) = try polled(
                ScriptedBottle(records: drinks(5)), options: options { $0.ownBottles = own }, journal: journal
            ) { $0.interruption = (number, { journal.release(ownAddress) }) }
            guard rig.effects.count > number else { break }
            released += 1
            #expect(journal.own.isEmpty, "let go before effect \(number)")
            func isAcknowledgement(_ effect: PollEffect) -> Bool {
                guard case .link(.write(_, let bytes, _)) = effect, case .acknowledge = HostCommand(decoding: bytes)
                else { return false }
                return true
            }
            let late = rig.effects.indices.filter { $0 > number && isAcknowledgement(rig.effects[$0]) }
            #expect(late.isEmpty, "let go before effect \(number), acknowledged at \(late)")
            if report.failure?.kind == .notOwned { refused += 1 }
            // Records that the bottle no longer has are stored.
            #expect(
                drinks(5).allSatisfy { journal.holds($0) || rig.peer.records.contains($0) },
                "let go before effect \(number)")
            number += 1
        }
        #expect(released > 10 && refused > 3, "\(released) \(refused)")
    }

    /// A record that was dated when it was recent and is delivered again when it is too old keeps its date.
    @Test(arguments: [false, true]) func `a duplicate with a date is not quarantined`(_ trusts: Bool) throws {
        let journal = MemoryJournal()
        for (number, wall) in [evening, evening.advanced(seconds: 300 * 86_400)].enumerated() {
            let report = try polled(
                ScriptedBottle(records: drinks(6)),
                options: options {
                    $0.isAcknowledgementDisabled = true
                    $0.isClockSynchronised = trusts || number == 0
                }, journal: journal, start: wall
            ).report
            #expect(
                report.received == 6 && report.suspect == 0 && report.duplicates == (number == 0 ? 0 : 6), "\(report)")
        }
        // A record without a date is suspect each time.
        for times in 0...1 {
            let report = try polled(
                ScriptedBottle(records: drinks(8)), options: options { $0.isAcknowledgementDisabled = true },
                journal: journal, start: evening.advanced(seconds: 300 * 86_400)
            ).report
            #expect(report.suspect == 2 && report.duplicates == 6 + 2 * times, "\(report)")
        }
    }

    /// Before the first poll of the own bottle a name on the air can belong to another person's bottle.
    @Test(arguments: [false, true])
    func `a name selects no bottle until the adopted bottle has been connected`(_ hasRadio: Bool) throws {
        var peer = ScriptedBottle(records: drinks(3))
        if hasRadio { peer.advertisement = advertisement() }
        func poll(_ bottle: String, own: [AdoptedBottle]) throws -> (
            rig: EngineRig<ScriptedBottle>, report: PollReport
        ) {
            try polled(peer, options: options { ($0.ownBottles, $0.bottle) = (own, bottle) }, hasRadio: hasRadio)
        }
        let unmet = [AdoptedBottle(identities: ["A4:C1:38:09:09:09"])]
        let (rig, refused) = try poll("WaterH-Boost-24oz", own: unmet)
        #expect(
            [.notOwned, .notFound].contains(refused.failure?.kind) && rig.peer.records.count == 3
                && rig.journal.entries.isEmpty, "\(refused)")
        #expect(try poll(ownAddress, own: unmet).report.new == 3, "an address identifies the bottle")
        #expect(try poll("WaterH-Boost-24oz", own: []).report.new == 3)
    }

    @Test(
        arguments: [
            (nil, true), ("A4:C1:38:01:02:03", true), ("a4:c1:38:01:02:03", true), ("kitchen", true),
            ("WaterH-Boost-24oz", true), ("waterh-boost-24OZ", true),
            ("Kitchne", false), ("A4:C1:38:01:02:04", false), ("", false),
        ] as [(String?, Bool)])
    func `only a known address, alias or name selects the store's bottles`(
        _ wanted: String?, _ selectsOwnBottle: Bool
    ) {
        let own = AdoptedBottle(identities: [ownAddress], aliases: ["kitchen"], advertisedName: "WaterH-Boost-24oz")
        #expect(options { ($0.ownBottles, $0.bottle) = ([own], wanted) }.selectsOwnBottle == selectsOwnBottle)
        #expect(options { $0.bottle = wanted }.selectsOwnBottle == (wanted == nil))
    }

    /// The options of a bottle whose setting `bottle.mode` is `share`.
    private func sharing(_ job: PollOptions.Job = .poll) throws -> PollOptions {
        var settings = Settings()
        if job == .poll { try settings.set("bottle.mode", to: "share") }
        try settings.set("bottle.showGoal", to: "true")
        var options = PollOptions(settings: settings.bottle, zone: .utc, goalMl: 2000)
        (options.job, options.isClockSynchronised, options.bottle) = (job, true, job == .inspect ? ownAddress : nil)
        return options
    }

    @Test(arguments: BottleProfile.allCases, [PollOptions.Job.poll, .inspect])
    func `a poll that shares or inspects a bottle writes only the log request`(
        _ profile: BottleProfile, _ job: PollOptions.Job
    ) throws {
        var peer = ScriptedBottle(profile, records: drinks(5))
        peer.snapshot = [2, 2, 87] + [7, 3, 0x1A, 2, 2, 22, 30, 0] + [3, 5, 0x07, 0xD0]
        let (rig, report) = try polled(peer, options: sharing(job)) { ($0.todayTotal, $0.light) = (1234, .gentle) }
        #expect(report.failure == nil && report.received == 5 && report.acknowledged == 0, "\(report)")
        let logRequest = Set(rig.written.map { $0.encoded })
        #expect(logRequest.count == 1 && rig.peer.records.count == 5, "\(rig.written)")
        #expect(rig.journal.own.isEmpty == (job == .inspect) && report.isAdopted == (job == .poll))
    }

    @Test func `a scan reports the bottles in range and connects to none`() throws {
        var peer = ScriptedBottle(records: drinks(3))
        peer.advertisement = advertisement(rssi: -61)
        let headphones = Advertisement(peer: PeerID("11:22:33:44:55:66"), name: "Headphones", rssi: -40)
        let (rig, report) = try polled(peer, options: options { $0.job = .scan }, hasRadio: true) {
            $0.schedule(.link(.advertised(headphones)), after: .seconds(1))
        }
        #expect(report.failure == nil && report.inRange == [peer.advertisement], "\(report)")
        #expect(rig.requests == [.startScan, .stopScan] && rig.journal.own.isEmpty)
    }

    @Test(arguments: [nil, "A4:C1:38:01:02:03", "WaterH-Boost-24oz"])
    func `a poll skips a bottle of another gateway on this machine`(_ named: String?) throws {
        let (rig, report) = try polled(
            ScriptedBottle(records: drinks(3)),
            options: options { ($0.bottle, $0.bottlesOfOtherServices) = (named, [ownAddress]) })
        #expect(report.failure?.kind == .notOwned && report.failure?.code == "elsewhere", "\(report)")
        #expect(rig.peer.records.count == 3 && rig.journal.entries.isEmpty && rig.journal.own.isEmpty)
    }

    @Test(arguments: [0, 1]) func `a poll reads its own bottle when two are in range`(own: Int) throws {
        let addresses = ["A4:C1:38:00:00:01", "A4:C1:38:00:00:02"]
        let bottles = addresses.map { address in
            var bottle = ScriptedBottle(records: drinks(3))
            bottle.advertisement = advertisement(address)
            bottle.serial = nil
            return bottle
        }
        let (rig, report) = try polled(
            DevicesInRange(devices: bottles),
            options: options { $0.ownBottles = [AdoptedBottle(identities: [addresses[own]])] }, hasRadio: true)
        #expect(report.failure == nil && report.identity == addresses[own] && report.received == 3, "\(report)")
        let other = rig.peer.devices[1 - own]
        #expect(other.records.count == 3 && other.connections == 0)
    }
}
