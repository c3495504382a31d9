import Bluetooth
import Testing

@Suite struct IdentifierTests {
    @Test(arguments: [
        ("FF01", "FF01"), ("0xffe4", "FFE4"), ("0000FFE9-0000-1000-8000-00805f9b34fb", "FFE9"),
        ("00010203-0405-0607-0809-0a0b0c0d1912", "00010203-0405-0607-0809-0A0B0C0D1912"),
    ])
    func `a UUID survives text and bytes`(text: String, printed: String) throws {
        let uuid = try #require(BluetoothUUID(text))
        #expect(uuid.description == printed)
        #expect(BluetoothUUID(littleEndian: uuid.littleEndian) == uuid)
        #expect(BluetoothUUID(littleEndian: uuid.full128LittleEndian) == uuid)
    }

    @Test(arguments: ["", "FF0", "GG01", "0000FFE9-0000-1000-8000-00805f9b34f"])
    func `an invalid UUID is rejected`(text: String) {
        #expect(BluetoothUUID(text) == nil)
    }

    @Test func `a device address survives text and bytes`() throws {
        let address = try #require(BluetoothAddress("a4:c1:38:01:02:ff"))
        #expect(address.description == "A4:C1:38:01:02:FF")
        #expect(address.littleEndian == [0xFF, 0x02, 0x01, 0x38, 0xC1, 0xA4])
        #expect(BluetoothAddress(littleEndian: address.littleEndian) == address)
        #expect(BluetoothAddress("a4:c1:38:01:02") == nil)
        #expect(BluetoothAddress("a4:c1:38:01:02:+f") == nil)
    }
}
