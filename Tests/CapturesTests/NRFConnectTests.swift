import Bluetooth
import Captures
import Testing

@Suite struct NRFConnectTests {
    /// The format of an export by nRF Connect for Android, with texts that users of the app have published.
    static let android = """
        nRF Connect, 2022-06-12
        WaterH-Boost-24oz (DC:23:4D:DE:AD:BE)
        V\t11:35:37.796\tConnecting to DC:23:4D:DE:AD:BE...
        D\t11:35:37.796\tgatt = device.connectGatt(autoConnect = false, TRANSPORT_LE, preferred PHY = LE 1M)
        D\t11:35:37.799\t[Callback] Connection state changed with status: 0 and new state: CONNECTED (2)
        I\t11:35:37.799\tConnected to DC:23:4D:DE:AD:BE
        V\t11:35:37.816\tGeneric Access (0x1800)
        - Device Name [R] (0x2A00)
        Unknown Service (0000ffe0-0000-1000-8000-00805f9b34fb)
        - Unknown Characteristic [N] (0000ffe4-0000-1000-8000-00805f9b34fb)
           Client Characteristic Configuration (0x2902)
        I\t11:36:13.027\tRead Response received from 00002a00-0000-1000-8000-00805f9b34fb, value: 0 bytes
        I\t11:36:13.126\tRead Response received from 00002a01-0000-1000-8000-00805f9b34fb, value: (0x) 00-00
        A\t11:36:13.126\t"[0] Unknown" received
        D\t11:36:48.226\tgatt.writeDescriptor(00002902-0000-1000-8000-00805f9b34fb, value=0x0100)
        I\t11:36:48.327\tData written to descr. 00002902-0000-1000-8000-00805f9b34fb, value: (0x) 01-00
        A\t11:36:48.327\t"Notifications enabled" sent
        V\t11:36:49.000\tWriting command to characteristic 0000ffe9-0000-1000-8000-00805f9b34fb
        I\t11:36:49.010\tData written to 0000ffe9-0000-1000-8000-00805f9b34fb, value: (0x) 47-54-00-01-06
        A\t11:36:49.010\t"(0x) 47-54-00-01-06" sent
        I\t11:36:49.427\tNotification received from 0000ffe4-0000-1000-8000-00805f9b34fb, value: (0x) 50-54-00-0F
        A\t11:36:49.427\t"(0x) 50-54-00-0F" received
        V\t11:36:50.000\tWriting request to characteristic 0000ff01-0000-1000-8000-00805f9b34fb
        I\t11:36:50.010\tData written to 0000ff01-0000-1000-8000-00805f9b34fb, value: (0x) 01
        D\t11:36:51.000\t[Callback] Connection state changed with status: 8 and new state: DISCONNECTED (0)
        E\t11:36:51.000\tError 8 (0x8): GATT CONN TIMEOUT
        I\t11:36:51.001\tDisconnected

        """

    @Test func `an Android export of nRF Connect is parsed`() {
        let reading = Reading(Self.android)
        #expect(reading.error == nil)
        #expect(reading.info.format == CaptureFormat(.nrfConnect, .text))
        #expect(reading.info.name == "WaterH-Boost-24oz")
        #expect(reading.info.address == BluetoothAddress(0xDC23_4DDE_ADBE))
        let travels: [ValueInfo.Kind?] = reading.packets.map {
            if case .value(let info) = $0.packet.content { info.kind } else { nil }
        }
        #expect(travels == [nil, .read, .read, .writeCommand, .notification, .writeRequest, nil])
        #expect(reading.payloads == [[], [], [0, 0], bytes("47 54 00 01 06"), bytes("50 54 00 0F"), [1], []])
        #expect(reading.times[4] == "1655033809.427000000")
    }

    @Test func `a log with only application-level lines is parsed`() {
        let reading = Reading(
            "A\t12:34:56.789\t\"(0x) 47-54-00-01-06\" sent\nA\t12:34:57.000\t\"(0x) 50-54-00-00\" received\n")
        #expect(reading.payloads == [bytes("47 54 00 01 06"), bytes("50 54 00 00")])
        #expect(reading.directions == [.sent, .received])
        #expect(
            reading.packets.allSatisfy {
                if case .value(let info) = $0.packet.content {
                    info.characteristic == nil && info.handle == 0
                } else {
                    false
                }
            })
        #expect(reading.info.remarks.count == 2)
    }

    @Test func `lines of the iOS format are parsed`() {
        let text =
            """
            [07:02:17.2120] Normal: Updated Value of Characteristic FFE4 to 5054 000F 0E06.\n[07:02:17.2120] \
            Application: \"5054 000F 0E06\" value received.\n[07:02:40.2420] Normal: Scanner Off.\n
            """
        let reading = Reading(text)
        #expect(reading.payloads == [bytes("50 54 00 0F 0E 06")])
        #expect(reading.times.first == "25337.212000000")
    }

    @Test(arguments: ["Timestamp,Source,Level,Line\n", ""])
    func `lines of the iOS format as CSV are parsed`(header: String) {
        let text = """
            07:02:17.2120,Connected Device,Debug,"[Callback] peripheral(peripheral, didUpdateValueFor: FFE4)"
            07:02:17.2120,Connected Device,Normal,Updated Value of Characteristic FFE4 to 5054 000F 0E06.
            07:02:17.2120,Connected Device,Application,"5054 000F 0E06" value received.
            07:02:18,Connected Device,normal,"Updated Value of Characteristic FFE4 to 5054 0000."
            07:02:40.2420,Scanner,Normal,Scanner Off.\n
            """
        let reading = Reading(header + text)
        #expect(reading.payloads == [bytes("50 54 00 0F 0E 06"), bytes("50 54 00 00")])
        #expect(reading.times.first == "25337.212000000")
    }

    @Test func `times of day continue after midnight`() {
        let value = "Notification received from 0000ffe4-0000-1000-8000-00805f9b34fb, value: (0x) 00"
        let reading = Reading("nRF Connect, 2026-12-31\nI\t23:59:59.000\t\(value)\nI\t00:00:01.000\t\(value)\n")
        #expect(reading.packets.map { $0.packet.time?.wholeSeconds } == [1_798_761_599, 1_798_761_601])
    }

    @Test func `a damaged value is reported`() {
        let reading = Reading(
            Array(
                """
                nRF Connect, 2026-12-31\nI\t23:59:59.000\tNotification received from \
                0000ffe4-0000-1000-8000-00805f9b34fb, value: (0x) 0Z\nD\t23:59:59.000\tx\n
                """
                .utf8))
        #expect(reading.error?.kind == .malformed)
        #expect(reading.error?.offset == 24)
    }
}
