import Bluetooth
import Testing

@Suite struct CentralTranscriptTests {
    @Test func `a transcript has requests and responses of a poll in order`() {
        var transcript = CentralTranscript()
        let now = MonotonicInstant(nanoseconds: 5)
        let service = RemoteService(
            uuid: BluetoothUUID(0xFFE0), handle: 10,
            characteristics: [
                RemoteCharacteristic(uuid: BluetoothUUID(0xFFE1), handle: 12, properties: [.notify, .write])
            ])
        var observations = transcript.record(.read(handle: 12), at: now)
        #expect(observations.isEmpty, "there is no connection")
        observations += transcript.record(.connected(PeerID("b"), mtu: 23), at: now)
        observations += transcript.record(.mtuChanged(185), at: now)
        observations += transcript.record(.discovered([service]), at: now)
        observations +=
            transcript.record(.subscribe(handle: 12), at: now) + transcript.record(.subscribed(handle: 12), at: now)
        observations +=
            transcript.record(.write(handle: 12, value: [1, 2], withResponse: false), at: now)
            + transcript.record(.wrote(handle: 12), at: now)
        observations +=
            transcript.record(.write(handle: 12, value: [3], withResponse: true), at: now)
            + transcript.record(.wrote(handle: 12), at: now)
        observations += transcript.record(.notification(handle: 12, value: [9]), at: now)
        observations += transcript.record(.disconnected(nil), at: now)
        observations += transcript.record(.notification(handle: 12, value: [9]), at: now)
        let pdus: [ATTPDU?] = observations.map {
            if case .pdu(_, let bytes) = $0.event { try? ATTPDU(decoding: bytes) } else { nil }
        }
        #expect(
            pdus == [
                nil, .exchangeMTURequest(mtu: 185), .exchangeMTUResponse(mtu: 185),
                .readByGroupTypeRequest(ATTHandleRange(10, 0xFFFF), type: BluetoothUUID(0x2800)),
                .readByGroupTypeResponse([ATTGroupValue(10, 0xFFFF, [0xE0, 0xFF])]),
                .readByTypeRequest(ATTHandleRange(11, 0xFFFF), type: BluetoothUUID(0x2803)),
                .readByTypeResponse([ATTHandleValue(11, [0x18, 12, 0, 0xE1, 0xFF])]),
                .writeRequest(handle: 13, value: [1, 0]), .writeResponse, .writeCommand(handle: 12, value: [1, 2]),
                .writeRequest(handle: 12, value: [3]), .writeResponse,
                .notification(handle: 12, value: [9]), nil,
            ])
        #expect(observations.allSatisfy { $0.connection == 1 && $0.at == now })
    }
}
