import Bluetooth
import BottleProtocol
import Captures

/// What the host wrote to a bottle.
package struct ObservedCommand {
    /// Whom it was written to.
    package let bottle: BottlePeer
    /// What was written.
    package let command: HostCommand
    /// As written.
    package let bytes: [UInt8]
    /// The characteristic it was written to, where the capture tells.
    package let characteristic: BluetoothUUID?
    /// Number of the record in which its last byte went.
    package let frame: Int
    /// Since 1970.
    package let time: Duration?

    /// In words for people.
    package var meaning: String {
        let place = characteristic
        guard let profile = BottleProfile.allCases.first(where: { place == BluetoothUUID($0.responseCharacteristic) })
        else { return command.meaning }
        let habit =
            bytes == [0x01] || bytes == [0x01, 0x00] || bytes == [0xFF] ? "; bottles drop the connection for this" : ""
        return
            """
            written to the response characteristic \(BluetoothUUID(profile.responseCharacteristic))\(habit): \
            \(command.meaning)
            """
    }
}

/// Finds the commands of one capture.
package final class CommandReader {
    private let conversation: ConversationReader

    private var gate: TrafficGate?

    /// - Parameters:
    ///   - bottle: only this one's.
    ///   - filter: only what these PDUs carry; its device does not count, `bottle` does.
    package init(
        given: GivenHandles = GivenHandles(), bottle: BluetoothAddress? = nil, filter: TrafficFilter = TrafficFilter(),
        _ sink: @escaping (ObservedCommand) throws -> Void
    ) {
        gate = TrafficGate(besideDevice: filter)
        conversation = ConversationReader(given: given) { traffic, origin in
            guard case .command(let command, let value, let characteristic) = traffic else { return }
            if let bottle, origin.side.peer.address != bottle { return }
            try sink(
                ObservedCommand(
                    bottle: origin.side.peer, command: command, bytes: value, characteristic: characteristic,
                    frame: origin.observation.frame, time: origin.observation.time))
        }
    }

    /// Reads a whole capture.
    ///
    /// - Parameter see: called for each event before.
    package func read(_ file: inout CaptureFile, _ see: (ConversationEvent) -> Void = { _ in }) throws {
        let path = file.path
        file.onHead = { [self] in learn($0) }
        lookAhead(in: path)
        do {
            try file.forEachEvent { packet in
                self.start(at: packet.time?.sinceEpoch)
            } _: { event, bytes in
                see(event)
                try receive(event, bytes)
            }
        } catch {
            try finishCapture()
            throw error
        }
        try finishCapture()
    }

    /// Tells the time of the first packet, for a filter that counts from there.
    func start(at time: Duration?) { gate?.start(at: time) }

    func lookAhead(in path: String) { conversation.lookAhead = { Foresight(path) } }

    /// Takes the next event of a conversation, with the PDU that belongs to it.
    package func receive(_ event: ConversationEvent, _ bytes: RawSpan) throws {
        guard gate?.passes(event, bytes) ?? true else { return }
        try conversation.receive(event, bytes)
    }
    /// What the head of a text capture tells.
    package func learn(_ head: CaptureFileFacts) { conversation.learn(head) }
    /// The capture has ended: what was put together so far comes out.
    package func finishCapture() throws { try conversation.finish() }
    /// Everybody of the capture who may be a bottle, in the order of first sight.
    package var peers: [BottlePeer] { conversation.peers }
}
