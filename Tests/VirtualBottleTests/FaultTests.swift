import BottleProtocol
import Bluetooth
import Testing
import Emulator

@Suite struct FaultTests {
    @Test func `every fault is parsed and listed once`() throws {
        for fault in BottleFault.allCases {
            #expect(try BottleFaults(fault.example) != BottleFaults(), "\(fault.example)")
            #expect(!fault.meaning.isEmpty && !fault.meaning.contains("\n"))
        }
        #expect(try BottleFaults(BottleFault.allCases.map(\.example).joined(separator: ", "))[.drop] == 5)
        #expect(try BottleFaults("") == BottleFaults())
    }

    @Test func `bottle faults and link faults have different names`() {
        #expect(BottleFault.allCases.filter { FaultPlan.isLinkFault($0.rawValue) }.isEmpty)
    }

    @Test(arguments: ["nonsense", "drop", "drop=x", "drop=101", "drop=-1", "shuffle=1", "ring=0", "=", "drop=5=5"])
    func `an invalid plan is rejected`(_ text: String) {
        #expect(throws: BottleFaults.Malformed.self) { try BottleFaults(text) }
    }

    /// A bottle with 40 records and faults: the polled records and the remaining ones.
    private func poll(_ faults: String, seed: UInt64 = 7, profile: BottleProfile = .retail) throws -> (
        bench: Bench, values: [[UInt8]]
    ) {
        var bench = try Bench(BottleIdentity(profile: OfferedProfiles(profile)), faults: faults, seed: seed).connected(
            sips: Array(1...40))
        bench.notified = []
        bench.write(profile == .draft ? .draftDump(1) : .drinkLog)
        bench.wait(.seconds(5))
        return (bench, bench.notified)
    }

    @Test func `equal seeds give equal runs`() throws {
        let plan = "drop=20,twice=20,cut=20,interleave=30,length=10,entry=10"
        #expect(try poll(plan).values == poll(plan).values)
        #expect(try poll(plan).values != poll(plan, seed: 8).values)
    }

    @Test(arguments: BottleFault.allCases.map(\.example))
    func `no fault makes a correct receiver acknowledge missing records`(_ word: String) throws {
        for profile in BottleProfile.allCases {
            for seed in 0..<5 as Range<UInt64> {
                var bench = try Bench(BottleIdentity(profile: OfferedProfiles(profile)), faults: word, seed: seed)
                bench.sip(Array(1...40))
                var kept: Set<Int> = []
                for _ in 0..<6 {
                    bench.connect()
                    bench.wait(.seconds(1))
                    // A lost packet of a draft log leaves no trace: only records that agree in two readings are
                    // acknowledged.
                    let dumps = (profile == .draft ? [0, 1] : [0]).map { _ in receive(&bench) }
                    for dump in dumps { kept.formUnion(dump.amounts) }
                    if let bytes = dumps[0].acknowledgement, dumps.allSatisfy({ $0 == dumps[0] }) {
                        bench.write(.acknowledge(bytes: bytes))
                    }
                    bench.disconnect()
                }
                let remaining = Set(bench.machine.flash.records.map { Int($0.bytes[7]) })
                let lost = Set(1...40).subtracting(kept).subtracting(remaining)
                #expect(lost.count == bench.status.flash.overwritten, "\(word) seed \(seed) \(profile): lost \(lost)")
            }
        }
    }

    private struct Received: Equatable {
        var amounts: [Int]
        /// `nil` where a part is missing.
        var acknowledgement: UInt16?
    }

    private func receive(_ bench: inout Bench) -> Received {
        bench.notified = []
        bench.write(bench.profile == .draft ? .draftDump(1) : .drinkLog)
        bench.wait(.seconds(5))
        var assembler = LogAssembler()
        let events = bench.notified.flatMap { assembler.receive($0) } + assembler.finish()
        let transfers = events.compactMap { if case .log(let log) = $0 { log } else { nil } }
        let isWhole = events.allSatisfy {
            switch $0 {
            case .unfinished, .malformed: false
            case .message, .log, .repeated: true
            }
        }
        return Received(
            amounts: transfers.flatMap { $0.records().map(\.amountMl) },
            acknowledgement: isWhole ? UInt16(transfers.reduce(0) { $0 + $1.recordBytes.count }) : nil)
    }

    @Test func `the faults hang-up, hang-up-once and refuse end connections`() throws {
        var (bench, values) = try poll("hang-up=3")
        #expect(values.count == 2 && bench.status.central == nil)
        bench.connect()
        bench.notified = []
        #expect(bench.write(.drinkLog).count == 2)
        (bench, values) = try poll("hang-up-once=3")
        #expect(values.count == 2)
        bench.connect()
        #expect(bench.write(.drinkLog).count == 6)
        bench = try Bench(faults: "refuse=1").connected()
        #expect(bench.status.central == nil)
        bench.connect()
        #expect(bench.status.central != nil)
    }

    @Test func `the faults slow, gap, early and ignore change the timing`() throws {
        var bench = try Bench(faults: "slow=300").connected()
        #expect(bench.write(.snapshot).isEmpty)
        bench.wait(.milliseconds(299))
        #expect(bench.notified.isEmpty)
        bench.wait(.milliseconds(1))
        #expect(bench.notified.count == 1)

        bench = try Bench(faults: "gap=100").connected(sips: Array(1...20))
        #expect(bench.write(.drinkLog).count == 1)
        bench.wait(.milliseconds(250))
        #expect(bench.notified.count == 3)

        bench = try Bench(faults: "early=500").connected()
        #expect(bench.write(.snapshot).isEmpty)
        bench.wait(.milliseconds(500))
        #expect(bench.write(.snapshot).count == 1)

        bench = try Bench(faults: "ignore=100").connected()
        #expect(bench.write(.snapshot).isEmpty && bench.write(.drinkLog).isEmpty)
    }

    @Test(arguments: ["split=20", "shuffle", "twice=100", "interleave=100", "restart=100"])
    func `the faults split, shuffle, repeat and interleave keep the whole log`(_ word: String) throws {
        let values = try poll(word).values
        let records = transfers(values).flatMap { $0.records() }
        #expect(Set(records.map(\.amountMl)) == Set(1...40))
        #expect(values != (try poll("").values))
    }

    @Test func `endless invalid data ends with the connection`() throws {
        var (bench, values) = try poll("endless")
        #expect((100...2000).contains(values.count))
        bench.disconnect()
        #expect(bench.machine.nextDeadline == nil)
    }

    @Test func `the faults lie, forget, resend and keep-alive send false data`() throws {
        #expect(try poll("lie=100").values == [hex("52 50 00 03 02 06 00")])
        var bench = try poll("forget=100").bench
        bench.write(.acknowledge(bytes: 13))
        #expect(bench.status.flash.records.count == 40)
        bench = try poll("resend=2").bench
        bench.write(.acknowledge(bytes: 520))
        bench.sip([99])
        #expect(bench.poll().map(\.amountMl) == [39, 40, 99] && bench.status.flash.records.count == 0)
        bench = try Bench(faults: "keep-alive").connected()
        bench.link(.subscribed(Bench.central, 0xFFE6))
        bench.wait(.seconds(16))
        #expect(bench.effects.count { if case .link(.notify(0xFFE6, _)) = $0 { true } else { false } } == 3)
    }
}
