package import Bluetooth
import Captures
import Dispatch
import Foundation
import Replay

/// Writes the traffic of a link to a capture file, with the HCI events of connections that the central's host has.
///
/// `LinkInstruments` receives `observe`. Packets are written one at a time, so that a killed process leaves a readable
/// file. The queue protects all state.
package final class LinkRecorder: @unchecked Sendable {
    private let queue = DispatchQueue(label: "recorder")
    private let path: String
    private let file: OutputFile
    private var hasBegun = false
    private var peer: BluetoothAddress
    private var isPeerRandom: Bool
    /// The time since 1970 at zero of the monotonic clock.
    private let epoch: Duration
    private let log: @Sendable (String) -> Void
    private var synthesiser = ConversationSynthesiser(.hci)
    private var writer: CaptureWriter
    private var frame = 0
    private var hasFailed = false

    /// - Parameters:
    ///   - path: the capture to write. Its suffix selects the format, btsnoop by default. `begin` replaces an older
    ///     capture.
    ///   - peer: the bottle's address; `identify` corrects it.
    ///   - isPeerRandom: whether `peer` is a random address.
    ///   - epoch: the time since 1970 at zero of the monotonic clock of the observations.
    package init(
        path: String, peer: BluetoothAddress, isPeerRandom: Bool = false, epoch: Duration,
        log: @escaping @Sendable (String) -> Void
    ) throws {
        let format = CaptureFormat(suffixOf: path) ?? CaptureFormat(.btsnoop, .h4)
        guard format.layer == .hci else {
            throw CaptureFileError(
                path: path,
                sentence:
                    "cannot be written: the format \(format) has no HCI packets; use the suffix .btsnoop or .pcapng")
        }
        self.path = path
        file = try OutputFile(path, kind: .capture, mode: 0o666, isRecording: true)
        self.peer = peer
        self.isPeerRandom = isPeerRandom
        self.epoch = epoch
        self.log = log
        writer = CaptureWriter(format)
    }

    /// Starts the recording and replaces the file. Call it after the link is open, so that a failed start does not
    /// replace an older recording.
    package func begin() {
        queue.sync {
            do { try file.publish() } catch { fail("\(error)") }
            hasBegun = true
            flush()
        }
    }

    /// Sets the bottle's address for later connections.
    package func identify(_ peer: BluetoothAddress) {
        queue.async {
            self.peer = peer
            self.isPeerRandom = false
        }
    }

    package func observe(_ advertisement: AdvertisingBytes, at time: MonotonicInstant) {
        queue.async {
            let time = self.epoch + .nanoseconds(time.nanoseconds)
            for (data, isScanResponse) in [(advertisement.data, false), (advertisement.scanResponse, true)]
            where !(isScanResponse && data.isEmpty) {
                self.frame += 1
                let advertiser = ObservedAdvertiser(
                    frame: self.frame, time: time, address: self.peer, isRandom: self.isPeerRandom,
                    isScanResponse: isScanResponse)
                self.write(.advertised(advertiser), data, time)
            }
        }
    }

    /// Records an observation without blocking.
    package func observe(_ observation: LinkObservation) {
        queue.async { self.record(observation) }
    }

    package func finish() {
        queue.sync { flush() }
    }

    /// Whether every packet so far was written.
    package var isComplete: Bool { queue.sync { !hasFailed } }

    private func record(_ observation: LinkObservation) {
        frame += 1
        let time = epoch + .nanoseconds(observation.at.nanoseconds)
        let connection = ObservedConnection(
            id: observation.connection, handle: UInt32(0x40 + observation.connection % 0xE00), peer: peer,
            isPeerRandom: isPeerRandom, isCentral: true)
        let (event, bytes): (ConversationEvent, [UInt8]) =
            switch observation.event {
            case .connected: (.connected(connection), [])
            case .disconnected: (.disconnected(connection, reason: 0x13), [])
            case .pdu(let direction, let pdu):
                (
                    .att(
                        ATTObservation(
                            frame: frame, time: time, connection: connection,
                            direction: direction == .toPeripheral ? .sent : .received)), pdu
                )
            }
        write(event, bytes, time)
    }

    private func write(_ event: ConversationEvent, _ bytes: [UInt8], _ time: Duration) {
        do {
            try synthesiser.receive(event, bytes.span.bytes, frame: frame, time: time) { packet, bytes in
                try writer.write(packet, bytes)
            }
        } catch {
            fail("\(error)")
        }
        flush()
    }

    private func flush() {
        guard hasBegun, !hasFailed else { return }
        do { try file.write(writer.takeOutput()) } catch { fail("\(error)") }
    }

    /// Logs a failure once. A full disk must not stop the bottle.
    private func fail(_ reason: String) {
        if !hasFailed { log("the recording is incomplete: \(reason)") }
        hasFailed = true
    }
}
