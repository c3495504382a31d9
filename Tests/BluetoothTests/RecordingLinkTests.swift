import Bluetooth
import Support
import Synchronization
import Testing

@Suite struct RecordingLinkTests {
    /// On a link with PDUs, the transcript at GATT level is equal to the PDUs, except for discovery and reads that the
    /// table answers, which a stack does not report.
    @Test func `a transcript equals the PDUs of the link`() async throws {
        let recorded = Mutex<(real: [LinkObservation.Event], written: [LinkObservation.Event])>(([], []))
        let ends = MemoryLink.pair(
            peripheral: LinkInstruments(observe: { seen in recorded.withLock { $0.real.append(seen.event) } }))
        let recording = InstrumentedPeripheralLink(
            ends.peripheral,
            instruments: LinkInstruments(observe: { seen in recorded.withLock { $0.written.append(seen.event) } }))
        let events = Inbox(recording.events)
        let centralEvents = Inbox(ends.central.events)
        try await recording.open(smallBottle)
        let central = ends.central
        central.perform(.connect(PeerID("p"), limit: .seconds(5)))
        _ = try await centralEvents.next("connected") { if case .connected = $0 { true } else { nil } }
        central.perform(.discover)
        central.perform(.subscribe(handle: 12))
        central.perform(.write(handle: 16, value: [1, 2], withResponse: false))
        central.perform(.read(handle: 12))
        var token = try await events.next("read") { $0.token }
        recording.perform(.respond(token: token, .value([7])))
        central.perform(.write(handle: 19, value: [3], withResponse: true))
        token = try await events.next("write") { $0.token }
        recording.perform(.respond(token: token, .error(0x80)))
        recording.perform(.notify(0xFFE4, value: [9]))
        try await centralEvents.next(.notification(handle: 12, value: [9]))
        central.perform(.disconnect)
        _ = try await events.next("disconnected") { if case .disconnected = $0 { true } else { nil } }
        await central.close()
        await recording.close()
        try await events.waitUntilFinished()

        let (real, written) = recorded.withLock { $0 }
        func isDiscovery(_ event: LinkObservation.Event) -> Bool {
            guard case .pdu(_, let pdu) = event, pdu.count > 1 else { return false }
            return pdu[0] == 1
                ? [0x04, 0x08, 0x10].contains(pdu[1]) : [0x04, 0x05, 0x08, 0x09, 0x10, 0x11].contains(pdu[0])
        }
        #expect(written.filter { !isDiscovery($0) } == real.filter { !isDiscovery($0) })
        #expect(written.first == .connected && written.last == .disconnected)
        // The transcript has every declaration that a reader needs for the table.
        for declaration in ["0B 00 12 0C 00 E4 FF", "0F 00 04 10 00 E9 FF"] {
            #expect(
                written.contains {
                    if case .pdu(.toCentral, let pdu) = $0 { hex(pdu).contains(declaration) } else { false }
                })
        }
    }
}
