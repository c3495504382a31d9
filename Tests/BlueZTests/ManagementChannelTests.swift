import Bluetooth
import Testing

@testable import BlueZ

@Suite struct ManagementChannelTests {
    /// BlueZ doc/mgmt-api.txt, "Disconnect Command".
    @Test func `a disconnect request has the bytes of the management API`() throws {
        let address = try #require(BluetoothAddress("00:AA:01:02:03:04"))
        #expect(
            ManagementChannel.disconnectRequest(address, isRandom: false, adapter: 1)
                == [0x14, 0x00, 0x01, 0x00, 0x07, 0x00, 0x04, 0x03, 0x02, 0x01, 0xAA, 0x00, 0x01])
        #expect(ManagementChannel.disconnectRequest(address, isRandom: true, adapter: 0x102).last == 2)
    }
}
