import Bluetooth
import Emulator

/// Finds the peripherals of captures and writes down what each is and does: advertisement, attributes, values,
/// conversations.
///
/// Feed it every event of `ConversationReassembler` in order, `beginFile` before each further file, then `finish`.
/// Discovery, the MTU exchange and everything else that a server answers from its table becomes the table; reads,
/// writes and what the peripheral sends by itself become the conversations.
package final class GadgetReader {
    /// What is kept of captures at most.
    private static let mostBytes = 64 << 20
    /// What a peripheral, or a connection, takes beside what was said.
    private static let bytesOfOne = 1024
    /// Advertisers of a busy place; further ones are not looked at.
    private static let mostAdvertisers = 4096

    private enum Key: Hashable {
        case address(BluetoothAddress)
        /// The capturing host itself.
        case host(file: Int, adapter: UInt32)
        case connection(file: Int, id: Int)
    }

    private var drafts: [Key: GadgetDraft] = [:]
    /// In order of first sight.
    private var order: [Key] = []
    private var connections: [Int: (peer: GadgetSession?, host: GadgetSession?, observed: ObservedConnection)] = [:]
    private var file = 0
    private var bytes = 0
    private var advertisers = 0

    /// At the beginning of the first file.
    package init() {}

    /// Another file: its connections are others, its addresses are the same.
    package func beginFile() {
        endConnections()
        file += 1
    }

    /// - Throws: `GadgetReaderError` where the captures hold more than can be kept.
    package func receive(_ event: ConversationEvent, _ bytes: RawSpan) throws {
        switch event {
        case .advertised(let advertiser): advertised(advertiser, bytes)
        case .connected(let connection): connections[connection.id] = (nil, nil, connection)
        case .disconnected(let connection, _): end(connection.id)
        case .encrypted(let connection): draft(of: connection).encryptedConnections += 1
        case .dropped: break
        case .att(let observation): try receive(observation, bytes)
        }
        guard self.bytes <= Self.mostBytes else {
            throw GadgetReaderError(
                sentence:
                    """
                    more than \(Self.mostBytes >> 20) MiB of conversations: too much for one gadget; narrow it \
                    with a time to begin at and one to end at
                    """
            )
        }
    }

    /// Everybody met, in order of first sight.
    package func finish() -> [ObservedGadget] {
        endConnections()
        return order.enumerated().compactMap { number, key in
            drafts[key].map { draft in
                ObservedGadget(
                    gadget: draft.gadget, label: Self.label(key, draft), connections: draft.connectionCount,
                    answers: draft.answers)
            }
        }
    }

    private static func label(_ key: Key, _ draft: GadgetDraft) -> String {
        switch key {
        case .address(let address): address.description
        case .host: "the capturing host (no address)"
        case .connection(_, let id): "connection \(id) (no address)"
        }
    }

    // MARK: who it is

    private func draft(_ key: Key) -> GadgetDraft {
        if let known = drafts[key] { return known }
        let new = GadgetDraft()
        if case .address(let address) = key { new.address = address }
        drafts[key] = new
        order.append(key)
        bytes += Self.bytesOfOne
        return new
    }

    /// The peripheral of a connection: the other end, unless the capturing host is it.
    private func key(of connection: ObservedConnection) -> Key {
        if connection.isCentral == false { return .host(file: file, adapter: connection.adapter) }
        if let peer = connection.peer, peer.value != 0 { return .address(peer) }
        return .connection(file: file, id: connection.id)
    }

    private func draft(of connection: ObservedConnection) -> GadgetDraft {
        let draft = draft(key(of: connection))
        if let isRandom = connection.isPeerRandom, connection.isCentral != false { draft.isRandom = isRandom }
        return draft
    }

    private func advertised(_ advertiser: ObservedAdvertiser, _ data: RawSpan) {
        let key = Key.address(advertiser.address)
        if drafts[key] == nil {
            guard advertisers < Self.mostAdvertisers else { return }
            advertisers += 1
        }
        let draft = draft(key)
        draft.isRandom = advertiser.isRandom
        guard data.byteCount <= 254 else { return }
        let data = data.bytes()
        if advertiser.isScanResponse {
            draft.scanResponse = data
        } else if !data.isEmpty || draft.advertisement == nil {
            draft.advertisement = data
        }
        if let name = AdvertisingData.name(in: data.span.bytes) { draft.advertisedName = name }
    }

    // MARK: what it says

    private func receive(_ observation: ATTObservation, _ pdu: RawSpan) throws {
        guard let opcode = pdu.first else { return }
        bytes += pdu.byteCount + 32
        let connection = observation.connection
        var entry = connections[connection.id] ?? (nil, nil, connection)
        // Both ends may be servers: odd opcodes come from one, even ones go to it.
        let isFromServer = opcode & 1 == 1
        let isHost = isFromServer ? observation.direction == .sent : observation.direction == .received
        let isGadgetHost = connection.isCentral == false
        // Of what the peripheral asks as a client only the MTU concerns its own table.
        let isOurs = isHost == isGadgetHost
        guard
            isOurs || opcode == ATTOpcode.exchangeMTURequest.rawValue
                || opcode == ATTOpcode.exchangeMTUResponse.rawValue
        else {
            connections[connection.id] = entry
            return
        }
        let session: GadgetSession
        if let known = isGadgetHost ? entry.host : entry.peer {
            session = known
        } else {
            session = GadgetSession(draft(of: connection), startedAt: observation.time)
            bytes += Self.bytesOfOne
            if isGadgetHost { entry.host = session } else { entry.peer = session }
        }
        connections[connection.id] = entry
        if !isOurs {
            session.exchangeMTU(pdu)
        } else if isFromServer {
            session.answer(pdu, observation)
        } else {
            session.ask(pdu, observation)
        }
    }

    private func end(_ id: Int) {
        guard let entry = connections.removeValue(forKey: id) else { return }
        entry.peer?.finish()
        entry.host?.finish()
    }

    private func endConnections() {
        for id in connections.keys.sorted() { end(id) }
    }
}
