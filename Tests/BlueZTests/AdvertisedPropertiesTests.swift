@testable import BlueZ
import Bluetooth
import DBus
import Testing

/// AD structures as properties of bluetoothd.
@Suite struct AdvertisedPropertiesTests {
    private func properties(_ data: [UInt8], _ response: [UInt8] = []) -> AdvertisedProperties {
        AdvertisedProperties(AdvertisingBytes(data: data, scanResponse: response))
    }

    @Test func `flags, services and name become advertisement properties`() {
        let shown = properties([2, 1, 6, 5, 3, 0x0F, 0x18, 0x0A, 0x18], [3, 9, 0x48, 0x69])
        #expect(shown.properties["Discoverable"] == .boolean(true))
        #expect(
            shown.properties["ServiceUUIDs"]
                == .strings(["0000180f-0000-1000-8000-00805f9b34fb", "0000180a-0000-1000-8000-00805f9b34fb"]))
        #expect(shown.properties["LocalName"] == .string("Hi"))
        #expect(shown.omitted == [])
    }

    @Test func `manufacturer data, service data, appearance and raw data become properties`() {
        let shown = properties([
            5, 0xFF, 0x4C, 0x00, 1, 2, 4, 0x16, 0x0F, 0x18, 77, 3, 0x19, 0x41, 0x03, 5, 0x12, 6, 0, 12, 0,
        ])
        #expect(shown.properties["Discoverable"] == .boolean(false))
        #expect(
            shown.properties["ManufacturerData"]
                == .dictionary("q", "v", [.init(.uint16(0x4C), .variant(.bytes([1, 2])))]))
        #expect(
            shown.properties["ServiceData"]
                == .dictionary(
                    "s", "v", [.init(.string("0000180f-0000-1000-8000-00805f9b34fb"), .variant(.bytes([77])))])
        )
        #expect(shown.properties["Appearance"] == .uint16(0x0341))
        #expect(shown.properties["Data"] == nil)
        #expect(shown.omitted == ["AD type 0x12, 4 bytes: not supported by bluetoothd"])
    }

    /// bluetoothd rejects a whole advertisement with a single AD type that it reserves.
    @Test func `only types that bluetoothd accepts are passed as raw data`() {
        let types = (0...255 as ClosedRange<UInt8>).filter { type in
            guard case .dictionary? = properties([3, type, 1, 2]).properties["Data"] else { return false }
            return true
        }
        let taken: [UInt8] = [0x00, 0x0B, 0x0C, 0x13, 0x24, 0x25, 0x26] + Array(0x2C...0x3C) + Array(0x3E...0xFE)
        #expect(types == taken)
    }

    @Test(
        arguments: [
            [3, 0x16, 0x0F, 0x18], [5, 0x20, 1, 2, 3, 4], [17, 0x21] + Array(repeating: 7, count: 16),
            [3, 0xFF, 0x4C, 0],
        ] as [[UInt8]])
    func `empty data is reported`(structure: [UInt8]) {
        let shown = properties(structure)
        #expect(shown.omitted.count == 1 && Set(shown.properties.keys) == ["Discoverable"])
    }

    @Test(
        arguments: [([0x48, 0x69, 0, 0], "Hi"), ([0, 0x48], nil), ([0xFF, 0], "\u{FFFD}")] as [([UInt8], String?)])
    func `a name ends at its first zero byte`(bytes: [UInt8], name: String?) {
        #expect(properties([UInt8(bytes.count + 1), 9] + bytes).properties["LocalName"] == name.map { .string($0) })
    }

    @Test func `data that does not fit is reported`() {
        let shown = properties(
            [2, 1, 6] + [24, 0xFF] + Array(repeating: 1, count: 23),
            [2, 0x0A, 4, 9, 0xFF] + Array(repeating: 2, count: 8))
        #expect(
            shown.omitted == ["AD type 0x0A, 1 bytes: not supported by bluetoothd", "AD type 0xFF, 8 bytes: no room"])
    }

    @Test(
        arguments: [
            [], [0], [1], [5, 9, 65], [0xFF, 0xFF], [1, 0xFF], [3, 0x16, 1], [2, 0x19, 1], [4, 6, 1, 2, 3],
        ] as [[UInt8]])
    func `malformed advertising data has no services`(data: [UInt8]) {
        #expect(properties(data, data).properties["ServiceUUIDs"] == nil)
    }
}
