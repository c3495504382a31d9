import Bluetooth
import Captures
import Replay
import Testing

@Suite struct BottleFilterTests {
    private static let bottle = BluetoothAddress("A4:C1:38:01:02:03")!
    private static let little: [UInt8] = [0x03, 0x02, 0x01, 0x38, 0xC1, 0xA4]
    private static let other: [UInt8] = [1, 2, 3, 4, 5, 6]

    private static func connection(_ subevent: UInt8, _ handle: UInt8, _ address: [UInt8], status: UInt8 = 0) -> [UInt8]
    {
        [0x3E, 19, subevent, status, handle, 0x00, 0, 0] + address + [24, 0, 0, 0, 42, 0, 0]
    }

    private static func end(_ handle: UInt8) -> [UInt8] { [0x05, 4, 0, handle, 0, 0x13] }
    private static func data(_ handle: UInt8) -> [UInt8] { [handle, 0x20, 4, 0, 0, 0, 4, 0] }

    /// A packet, and whether the filter keeps it.
    typealias Step = (content: PacketContent, bytes: [UInt8], isWanted: Bool)

    static let sequences: [[Step]] = [
        // Nothing of an earlier connection; then the bottle's own until it ends.
        [
            (.hci(.acl), data(0x40), false), (.hci(.event), connection(0x01, 0x40, little), true),
            (.hci(.acl), data(0x40), true),
            (.hci(.acl), data(0x41), false), (.hci(.event), end(0x41), false),
            (.hci(.event), end(0x40), true), (.hci(.acl), data(0x40), false),
        ],
        // The enhanced forms, and a handle that is reassigned to another device.
        [
            (.hci(.event), connection(0x0A, 0x42, little), true), (.hci(.acl), data(0x42), true),
            (.hci(.event), connection(0x29, 0x42, other), false),
            (.hci(.acl), data(0x42), false), (.hci(.event), connection(0x29, 0x43, little), true),
            (.hci(.acl), data(0x43), true),
        ],
        // A failed attempt has its address and no handle.
        [(.hci(.event), connection(0x01, 0x40, little, status: 2), true), (.hci(.acl), data(0x40), false)],
        // Advertisements and commands with its address, and no others. Notes always.
        [
            (.hci(.event), [0x3E, 12, 0x02, 1, 0, 0] + little + [0, 0xC0], true),
            (.hci(.event), [0x3E, 12, 0x02, 1, 0, 0] + other + [0, 0xC0], false),
            (.hci(.command), [0x0D, 0x20, 25, 0x60, 0, 0x30, 0, 0, 0] + little, true),
            (.hci(.command), [0x03, 0x0C, 0], false), (.note(.monitor(0)), [], true),
        ],
    ]

    @Test(arguments: sequences) func `the filter keeps traffic of the bottle`(_ sequence: [Step]) {
        var filter = BottleFilter(Self.bottle)
        for (index, step) in sequence.enumerated() {
            #expect(filter.selects(step.content, step.bytes) == step.isWanted, "step \(index)")
        }
    }

    @Test(arguments: sequences) func `truncated packets do not trap the filter`(_ sequence: [Step]) {
        for step in sequence {
            for length in 0...step.bytes.count {
                var filter = BottleFilter(Self.bottle)
                _ = filter.selects(.hci(.event), Self.connection(0x01, 0x40, Self.little))
                _ = filter.selects(step.content, Array(step.bytes.prefix(length)))
            }
        }
    }
}
