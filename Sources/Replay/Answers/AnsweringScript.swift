import Bluetooth
import BottleProtocol
import Captures

/// What a recorded bottle answered to which request: a capture as test material for whoever talks to bottles.
package struct AnsweringScript: Sendable {
    /// A value from the response characteristic.
    package struct Value: Sendable, Equatable {
        /// The value as it came.
        package var bytes: [UInt8]
        /// Since the request.
        package var after: Duration
    }

    /// A request with everything that came until the next one.
    package struct Exchange: Sendable, Equatable {
        /// As written to the command characteristic.
        package var request: [UInt8]
        /// Number of the capture's record that holds the request.
        package var frame: Int
        /// What the response characteristic sent until the next request.
        package var values: [Value] = []
        /// Whole records of the log among the values, 13 bytes each, in order.
        package var records: [[UInt8]] = []

        /// The request as a command.
        package var command: HostCommand { HostCommand(decoding: request) }
    }

    /// `nil` where the capture does not show it.
    package internal(set) var address: BluetoothAddress?
    /// The name that the recorded bottle showed.
    package internal(set) var name: String?
    /// What the recorded bottle is, as far as the capture tells.
    package internal(set) var model: BottleModel?
    /// The profile in which the recording speaks; `nil` where none could be told.
    package internal(set) var profile: BottleProfile
    /// In the order of the capture, over all connections.
    package internal(set) var exchanges: [Exchange] = []
    /// Every distinct record of the log that the capture holds, also those that came unasked or in unfinished
    /// transfers.
    package internal(set) var records: [[UInt8]] = []

    /// The scripts of all bottles in a capture, in order of first connection.
    ///
    /// - Throws: `AnsweringScriptError` where there is none or too much; what reading throws. A capture that is cut or
    ///   damaged gives what was read before: `trouble` says so.
    package static func read(
        _ path: String, given: GivenHandles = GivenHandles()
    ) throws -> (scripts: [AnsweringScript], trouble: String?) {
        var file = CaptureFile(path: path)
        let builder = ScriptBuilder(path: path, given: given)
        let trouble = try file.feed([builder]).error?.description
        let scripts = try builder.finish()
        guard !scripts.isEmpty else {
            if let trouble { throw AnsweringScriptError(sentence: "\(path): \(trouble)") }
            throw AnsweringScriptError(sentence: "no WaterH bottle speaks in \(path): there is nothing to answer with")
        }
        return (scripts, trouble)
    }
}

/// No script can be made of this capture.
package struct AnsweringScriptError: Error, Sendable, CustomStringConvertible {
    /// What is missing in the capture.
    package var sentence: String

    /// With the words for a person.
    package init(sentence: String) { self.sentence = sentence }

    /// The sentence.
    package var description: String { sentence }
}

/// Sorts a capture's traffic into exchanges, bottle by bottle.
private final class ScriptBuilder: EventReader {
    /// More than any session of a real bottle by far; a script is kept in memory.
    private static let mostBytes = 64 << 20

    private let path: String
    private let given: GivenHandles
    private var conversation: ConversationReader?
    private var drafts: [ObjectIdentifier: Draft] = [:]
    private var transfers: [ObservedTransfer] = []
    private var bytes = 0

    /// Drafts that are asked now.
    private var asked: [Draft] = []

    private final class Draft {
        let peer: BottlePeer
        var exchanges: [AnsweringScript.Exchange] = []
        /// When the last request was made; `nil` while nothing was asked on this connection.
        var askedAt: Duration?
        var isAsked = false
        var records: [[UInt8]] = []
        var known: Set<[UInt8]> = []

        init(_ peer: BottlePeer) { self.peer = peer }
    }

    init(path: String, given: GivenHandles) {
        self.path = path
        self.given = given
        let reader = ConversationReader(given: given) { [unowned self] traffic, origin in take(traffic, origin) }
        reader.onValue = { [unowned self] value in transfers.append(value) }
        conversation = reader
    }

    func learn(_ head: CaptureFileFacts) { conversation?.learn(head) }
    func start(at time: Duration) {}

    func receive(_ event: ConversationEvent, _ bytes: RawSpan) throws {
        switch event {
        case .connected(let connection), .disconnected(let connection, _): leave(connection)
        default: break
        }
        try conversation?.receive(event, bytes)
        // Only now it is known what the handle is: the value itself may have told.
        for transfer in transfers { take(transfer) }
        transfers.removeAll(keepingCapacity: true)
        guard self.bytes <= Self.mostBytes else {
            throw AnsweringScriptError(
                sentence:
                    """
                    \(path) holds more than \(Self.mostBytes >> 20) MiB of a bottle's answers: too much to answer \
                    from; cut the capture into parts
                    """
            )
        }
    }

    func finish() throws -> [AnsweringScript] {
        try conversation?.finish()
        return (conversation?.peers ?? []).compactMap { peer in
            guard let draft = drafts[ObjectIdentifier(peer)], peer.isBottle || !draft.exchanges.isEmpty else {
                return nil
            }
            let isDraft = draft.exchanges.contains { $0.command.isDraftDump }
            var script = AnsweringScript(profile: peer.profile ?? (isDraft ? .draft : .retail))
            (script.address, script.name, script.model) = (peer.address, peer.name, peer.model)
            (script.exchanges, script.records) = (draft.exchanges, draft.records)
            return script
        }
    }

    private func draft(_ peer: BottlePeer) -> Draft {
        if let known = drafts[ObjectIdentifier(peer)] { return known }
        let new = Draft(peer)
        drafts[ObjectIdentifier(peer)] = new
        return new
    }

    private func leave(_ connection: ObservedConnection) {
        for draft in asked where draft.peer.address == connection.peer || draft.peer.isHost { draft.isAsked = false }
        asked.removeAll { !$0.isAsked }
    }

    private func take(_ traffic: BottleTraffic, _ origin: TrafficOrigin) {
        let draft = draft(origin.side.peer)
        switch traffic {
        case .command(_, let value, _):
            draft.exchanges.append(AnsweringScript.Exchange(request: value, frame: origin.observation.frame))
            draft.askedAt = origin.observation.time
            if !draft.isAsked { asked.append(draft) }
            draft.isAsked = true
            bytes += value.count
        case .records(let batch):
            batch.forEachRecord { raw, _ in
                let record = [UInt8](raw)
                if draft.known.insert(record).inserted { draft.records.append(record) }
                if draft.isAsked, let last = draft.exchanges.indices.last {
                    draft.exchanges[last].records.append(record)
                }
                bytes += 64
            }
        case .message, .malformed: break
        }
    }

    private func take(_ transfer: ObservedTransfer) {
        guard case .response = transfer.side.role(of: transfer.handle, given), transfer.travel.direction == .received
        else { return }
        let draft = draft(transfer.side.peer)
        guard draft.isAsked, let last = draft.exchanges.indices.last else { return }
        let delay = zip(transfer.time, draft.askedAt).map { $0 - $1 } ?? .zero
        draft.exchanges[last].values.append(AnsweringScript.Value(bytes: transfer.bytes, after: max(.zero, delay)))
        bytes += transfer.bytes.count + 64
    }
}

/// Both or none.
private func zip<A, B>(_ one: A?, _ other: B?) -> (A, B)? {
    if let one, let other { (one, other) } else { nil }
}
