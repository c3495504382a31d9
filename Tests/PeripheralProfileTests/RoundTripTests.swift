import Bluetooth
import CommandSupport
import Support
import Testing
import Emulator

@Suite struct RoundTripTests {
    /// Discovers the table and repeats all recorded exchanges.
    static func replay(_ gadget: PeripheralProfile, _ mode: ProfileMachine.Mode) throws -> (
        clone: PeripheralProfile, complaints: [String], reported: [String]
    ) {
        let world = try World(gadget, mode)
        var complaints: [String] = []
        for (number, conversation) in gadget.conversations.enumerated() {
            let host = world.connect()
            if number == 0 {
                try host.exchangeMTU()
                try host.discover()
            } else {
                try host.exchangeMTU()
            }
            for exchange in conversation.exchanges {
                complaints += try host.repeatExchange(exchange)
                try world.wait(1)
            }
        }
        return (try world.recorded(), complaints, world.reported)
    }

    @Test(arguments: 0..<20)
    func `a random profile is unchanged after emulating and cloning`(seed: UInt64) throws {
        var maker = AnyProfile(SeededGenerator(seed: seed))
        // In `loop` mode the values restart while the host continues: that is a different conversation.
        for mode in [ProfileMachine.Mode.once, .strict, .new] {
            var gadget = maker.gadget()
            try gadget.check()
            // Without a conversation no host connects.
            guard !gadget.conversations.isEmpty else { continue }
            gadget = try ProfileFile.decode(try ProfileFile.encode(gadget), path: "g")
            var (clone, complaints, reported) = try Self.replay(gadget, mode)
            #expect(complaints == [], "seed \(seed), \(mode)")
            #expect(reported == [], "seed \(seed), \(mode)")
            clone.gaps = []
            let isEqual = clone == gadget
            #expect(isEqual, "seed \(seed), \(mode)")
        }
    }
}
