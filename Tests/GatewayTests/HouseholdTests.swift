import Bluetooth
import BottleProtocol
@testable import Gateway
import GatewaySupport
import Support
import Synchronization
import Testing
import TrackerCore

private let red = "A4:C1:38:00:00:01"
private let blue = "A4:C1:38:00:00:02"
private let green = "A4:C1:38:00:00:03"
private let standIn = "WaterH-Boost-24oz (private address)"

private func own(_ identities: String...) -> [OwnBottle] { identities.map { OwnBottle(identities: [$0]) } }

/// Whose bottles are whose in a household, and that nobody's poll drains another's.
@Suite(.timeLimit(.minutes(1))) struct HouseholdTests {
    private typealias Share = HouseholdBottles.Share

    /// What each of two people must leave alone, and whether each may take the first bottle that answers.
    @Test(
        arguments: [
            // Listed here is foreign there, also where nobody has met it.
            (["A4:C1:38:00:00:01"], [], [], [], [], ["A4:C1:38:00:00:01"], true, true),
            // Adopted by one is foreign to the other.
            ([], [red], [], [], [], [red], true, true),
            ([], [red], [], [blue], [blue], [red], true, true),
            // The list goes before what a store once adopted.
            ([blue], [], [], [blue], [], [blue], true, true),
            // Two stores, one a copy of the other: the first one's.
            ([], [red], [], [red, blue], [blue], [red], true, true),
            // Two wait for their first bottle: it is not ours to say whose it is.
            ([], [], [], [], [], [], false, false),
            // A name that stands in for an address may be borne by two bottles.
            ([], [standIn], [], [standIn], [], [], true, true),
        ] as [([String], [String], [String], [String], [String], [String], Bool, Bool)])
    func whatIsWhose(
        annasList: [String], annas: [String], bensList: [String], bens: [String], foreignToAnna: [String],
        foreignToBen: [String], annaMayMeet: Bool, benMayMeet: Bool
    ) {
        let house = HouseholdBottles([
            Share(person: "anna", link: "bluez", listed: annasList, own: annas.map { OwnBottle(identities: [$0]) }),
            Share(person: "ben", link: "bluez", listed: bensList, own: bens.map { OwnBottle(identities: [$0]) }),
        ])
        #expect(house.foreign(to: "anna").flatMap(\.identities).sorted() == foreignToAnna)
        #expect(house.foreign(to: "ben").flatMap(\.identities).sorted() == foreignToBen)
        #expect(house.foreign(to: "anna").allSatisfy { $0.owner == "ben" })
        #expect(house.mayMeet("anna") == annaMayMeet && house.mayMeet("ben") == benMayMeet)
    }

    /// Two stores know one bottle: it is whose it was first, in whatever order they are listed, and that is said to the
    /// other.
    @Test(
        arguments: [
            (1, 2, "anna"), (2, 1, "ben"), (nil, 1, "ben"), (1, nil, "anna"), (nil, nil, "anna"), (5, 5, "anna"),
        ] as [(Int64?, Int64?, String)])
    func aBottleOfTwoStoresIsWhoseItWasFirst(annas: Int64?, bens: Int64?, owner: String) {
        let house = HouseholdBottles([
            Share(person: "anna", link: "bluez", own: [OwnBottle(identities: [red], since: annas)]),
            Share(person: "ben", link: "bluez", own: [OwnBottle(identities: [red, "serial"], since: bens)]),
        ])
        let other = owner == "anna" ? "ben" : "anna"
        #expect(house.foreign(to: owner).allSatisfy { !$0.identities.contains(red) })
        #expect(house.foreign(to: other).contains { $0.identities.contains(red) && $0.owner == owner })
        #expect(house.disputes(of: owner).isEmpty)
        #expect(house.disputes(of: other) == [HouseholdBottles.Dispute(address: red, owner: owner, other: other)])
    }

    /// Who is not listed any more: nobody adopts that bottle, and nobody who has it, too, loses it.
    @Test func aBottleOfWhoIsGoneIsNotAdopted() {
        func house(_ ben: Share) -> HouseholdBottles {
            HouseholdBottles([
                ben, Share(person: "anna", link: "bluez", own: [OwnBottle(identities: [red], since: 1)], isGone: true),
            ])
        }
        let newcomer = house(Share(person: "ben", link: "bluez"))
        #expect(newcomer.foreign(to: "ben").flatMap(\.identities) == [red] && newcomer.mayMeet("ben"))
        for share in [
            Share(person: "ben", link: "bluez", own: [OwnBottle(identities: [red], since: 2)]),
            Share(person: "ben", link: "bluez", listed: [red]),
        ] {
            #expect(house(share).foreign(to: "ben").isEmpty && house(share).disputes(of: "ben").isEmpty)
        }
        let nobody = HouseholdBottles([
            Share(person: "ben", link: "bluez"), Share(person: "anna", link: "bluez", isGone: true),
        ])
        #expect(nobody.mayMeet("ben"), "who is gone waits for nothing")
    }

    @Test func whoWaitsOnAnotherLinkIsNoRival() {
        let house = HouseholdBottles([
            Share(person: "anna", link: "unix:/a"), Share(person: "ben", link: "unix:/b"),
            Share(person: "eve", link: "unix:/b"),
        ])
        #expect(house.mayMeet("anna") && !house.mayMeet("ben") && house.rivals(of: "eve") == ["ben"])
        #expect(BottlePlan.plans(of: "ben", wanted: [], own: [], mayMeet: false).isEmpty)
    }

    /// A bottle that is somebody else's is left alone whoever is named, with a radio and without one.
    @Test(arguments: [true, false], [nil, red, "WaterH-Boost-24oz"] as [String?])
    func anothersBottleIsNeverDrained(hasRadio: Bool, named: String?) throws {
        for isKnownByName in [false, true] {
            var options = PollOptions(zone: .utc)
            options.bottle = isKnownByName && named == red ? nil : named
            options.foreign = [
                ForeignBottle(
                    owner: "ben", identities: isKnownByName ? [] : [red],
                    name: isKnownByName ? "waterh-boost-24OZ" : nil)
            ]
            var peer = ScriptedBottle()
            peer.advertisement = Advertisement(
                peer: PeerID(red), address: BluetoothAddress(red), name: "WaterH-Boost-24oz")
            peer.serial = hasRadio ? nil : Array(red.utf8)
            peer.records = [record(minute: 1, second: 1, amount: 100)]
            var rig = EngineRig(
                options: options, peer: peer, journal: MemoryJournal(), start: evening, hasRadio: hasRadio)
            let report = try rig.run()
            #expect(report.failure != nil && report.received == 0 && !report.isAdopted, "\(report)")
            let words = report.failure?.sentence ?? ""
            #expect(words.contains("ben's"), "\(report)")
            #expect(rig.peer.records.count == 1, "Nothing was acknowledged.")
        }
    }

    /// A name is borne by many: it takes nobody's own bottle away.
    @Test func aNameAtAnotherPersonDoesNotKeepMyOwnBottleFromMe() {
        var options = PollOptions(zone: .utc)
        options.own = own(red)
        options.foreign = [ForeignBottle(owner: "ben", identities: [], name: "WaterH-Boost-24oz")]
        #expect(Ownership(options).allows(identity: red, name: "WaterH-Boost-24oz"))
        #expect(!Ownership(options).allows(identity: blue, name: "WaterH-Boost-24oz"))
        options.own = []
        options.bottle = green
        #expect(Ownership(options).allows(identity: green, name: "WaterH-Boost-24oz"))
    }

    @Test func plansOfTwoPeopleAreTold() {
        let annas = BottlePlan.plans(of: "anna", wanted: ["mine"], own: [])
        let bens = BottlePlan.plans(of: "ben", wanted: ["mine"], own: [])
        #expect(annas[0].id != bens[0].id && annas[0].name == "mine" && bens[0].person == "ben")
        #expect(BottlePlan.plans(wanted: [red, blue], own: own(red)).map(\.id) == [red, blue])
    }

    /// Who asks right after the first bottle was adopted is served: it stands under another name by then.
    @Test(arguments: [nil, "ben"] as [String?])
    func whoAsksAfterAnAdoptionIsServed(person: String?) async {
        let polls = Mutex(0)
        let (polled, tell) = AsyncStream.makeStream(of: Void.self)
        let service = PollService(
            PollService.Surroundings(
                look: {
                    let own = polls.withLock { $0 } == 0 ? [] : own(red)
                    return BottlePlan.plans(of: person, wanted: [], own: own).map {
                        BottleDay($0, rhythm: .every(seconds: 600))
                    }
                },
                options: { _ in PollOptions(zone: .utc) },
                poll: { _ in
                    polls.withLock { $0 += 1 }
                    var report = PollReport()
                    (report.identity, report.isAdopted) = (red, true)
                    return report
                },
                afterPoll: { _, _ in tell.yield() }),
            clock: .system(wall: { evening }))
        let work = Task { await service.run() }
        var polling = polled.makeAsyncIterator()
        await polling.next()
        await service.hurry(person)
        await polling.next()
        work.cancel()
        await work.value
        #expect(polls.withLock { $0 } == 2)
    }

    /// Two people and one adapter: what one asks for moves nobody else's turn, and each hears of the own next poll
    /// only.
    @Test func whatOnePersonAsksForIsNoBusinessOfTheOther() {
        let plans = [
            BottlePlan.plans(of: "anna", wanted: [], own: own(red)),
            BottlePlan.plans(of: "ben", wanted: [], own: own(blue)),
        ].flatMap { $0 }
        var machine = ServiceMachine()
        func at(_ seconds: Int64) -> MonotonicInstant {
            MonotonicInstant(nanoseconds: 0).advanced(by: .seconds(seconds))
        }
        let look = ServiceMachine.Event.plans(
            plans, [plans[0].id: .every(seconds: 100), plans[1].id: .every(seconds: 600)])
        func polled(_ effects: [ServiceMachine.Effect]) -> String? {
            effects.compactMap { if case .poll(let plan, _, _) = $0 { plan.person } else { nil } }.first
        }
        #expect(polled(machine.handle(look, at: at(0))) == "anna")
        _ = machine.handle(.pollOver(PollReport()), at: at(1))
        #expect(polled(machine.handle(look, at: at(1))) == "ben")
        _ = machine.handle(.pollOver(PollReport()), at: at(2))
        #expect(
            machine.nextPoll(of: "anna") == at(101) && machine.nextPoll(of: "ben") == at(602)
                && machine.nextPoll(of: "eve") == nil)
        _ = machine.handle(.pokeBottles(of: "ben"), at: at(10))
        #expect(machine.nextPoll(of: "anna") == at(101))
        #expect(polled(machine.handle(look, at: at(10))) == "ben")
        var report = PollReport()
        report.isConnected = true
        _ = machine.handle(.pollOver(report), at: at(11))
        #expect(machine.isHolding(for: "ben") && !machine.isHolding(for: "anna"))
    }
}
