import Bluetooth
import CommandSupport
import Support
import Testing
import Emulator

@Suite struct RoundTripTests {
    /// Discovers the table and repeats all recorded exchanges.
    static func replay(_ profile: PeripheralProfile, _ mode: ProfileMachine.Mode) throws -> (
        clone: PeripheralProfile, complaints: [String], reported: [String]
    ) {
        let world = try World(profile, mode)
        var complaints: [String] = []
        for (number, conversation) in profile.conversations.enumerated() {
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
            var profile = maker.profile()
            try profile.check()
            // Without a conversation no host connects.
            guard !profile.conversations.isEmpty else { continue }
            profile = try ProfileFile.decode(try ProfileFile.encode(profile), path: "g")
            var (clone, complaints, reported) = try Self.replay(profile, mode)
            #expect(complaints == [], "seed \(seed), \(mode)")
            #expect(reported == [], "seed \(seed), \(mode)")
            clone.gaps = []
            let isEqual = clone == profile
            #expect(isEqual, "seed \(seed), \(mode)")
        }
    }
}
