package import Bluetooth
import BottleProtocol
package import Captures

/// Counts the traffic of a capture per connection, characteristic and kind of request, in bounded memory.
package final class CaptureStatistics {
    /// The connections in order of the first packet; at most `connectionLimit`.
    package var connections: [ConnectionStatistics] { list.all }
    /// The number of connections, including those without statistics.
    package var connectionCount: Int { list.count }
    package static let connectionLimit = ConnectionList.maximumCount
    /// The characteristics by server, then by handle; at most `characteristicLimit`.
    package var characteristics: [CharacteristicStatistics] {
        attributes.values.sorted {
            ($0.peer.isHost ? 1 : 0, $0.connection, $0.handle) < ($1.peer.isHost ? 1 : 0, $1.connection, $1.handle)
        }
    }
    /// The maximum number of characteristics with statistics.
    package static let characteristicLimit = 4096
    /// The number of PDUs of the characteristics beyond `characteristicLimit`.
    package private(set) var uncountedPDUs = 0
    package private(set) var total = TrafficCounts()
    /// Requests by opcode, with their responses; including indications.
    package var requests: [(opcode: ATTOpcode, counts: TrafficCounts)] {
        countsByRequest.sorted { $0.key < $1.key }.map { (ATTOpcode(rawValue: $0), $1) }
    }
    package private(set) var drops: [DropReason: Int] = [:]
    /// The clock readings of bottles, in order of first connection; at most 64.
    package var clocks: [(peer: BottlePeer, readings: ClockReadings)] { clockStore.clocks }
    /// The number of PDUs with an earlier time than the previous one on the same adapter, as after a clock change.
    package private(set) var backwardSteps = 0
    /// The largest backward step, and its record.
    package private(set) var largestStep: (frame: Int, by: Duration)?
    /// The number of responses whose request is not in the capture.
    package private(set) var orphans = 0
    package let timeline: Timeline?

    private var list = ConnectionList()
    private var attributes: [AttributeKey: CharacteristicStatistics] = [:]
    private var lastAttribute: (key: AttributeKey, value: CharacteristicStatistics)?
    private var countsByRequest: [UInt8: TrafficCounts] = [:]
    private var matcher = RequestMatcher()
    private var selector: TrafficSelector
    private let isFiltered: Bool
    private let conversation: ConversationReader
    private let clockStore: ClockStore
    private var lastTimes: [UInt32: Duration] = [:]
    private var now: Duration?

    private struct AttributeKey: Hashable {
        /// The server: its address, adapter or connection number. Bits 48 to 50 are the kind of number.
        var server: UInt64
        var handle: UInt16
    }

    /// - Parameters:
    ///   - filter: only these PDUs count. Requests and responses are matched before it applies.
    ///   - handles: the handles of a bottle's characteristics, for captures without discovery.
    ///   - timeline: receives each counted PDU.
    package init(
        _ filter: TrafficFilter = TrafficFilter(), handles: HandleOptions = HandleOptions(), timeline: Timeline? = nil
    ) {
        self.timeline = timeline
        selector = TrafficSelector(filter)
        isFiltered = !filter.isEmpty
        let clockStore = ClockStore()
        self.clockStore = clockStore
        conversation = ConversationReader(handles: handles) { clockStore.add($0, $1) }
    }

    package var peers: [BottlePeer] { conversation.peers }

    /// Reads a whole file.
    /// - Parameter onPacket: called for each packet before it is read.
    /// - Throws: as `CaptureFile.forEachEvent`, after everything before the error was counted.
    package func read(_ file: inout CaptureFile, onPacket: (CapturePacket) -> Void = { _ in }) throws {
        defer { finish() }
        file.onHeader = addNames(from:)
        try file.forEachEvent { packet in
            onPacket(packet)
            start(at: packet.time)
        } _: {
            try receive($0, $1)
        }
    }

    func start(at time: Duration?) { selector.start(at: time) }

    package func addNames(from info: CaptureFileInfo) { conversation.addNames(from: info) }

    package func receive(_ event: ConversationEvent, _ bytes: RawSpan) throws {
        switch event {
        case .att(let observation):
            if observation.isSynthetic {
                list.find(observation.connection)?.isText = true
            } else {
                count(observation, bytes)
            }
        case .connected(let connection):
            list.find(connection)?.sawBeginning = true
        case .disconnected(let connection, let reason):
            endRequests(connection.id)
            list.find(connection)?.end(reason)
        case .encrypted(let connection): list.find(connection)?.isEncrypted = true
        case .dropped(let reason, let connection):
            drops[reason, default: 0] += 1
            if let connection { list.find(connection)?.drops[reason, default: 0] += 1 }
        case .advertised: break
        }
        try conversation.receive(event, bytes)
    }

    package func finish() {
        for connection in matcher.connections.sorted() { endRequests(connection) }
        try? conversation.finish()
    }

    private func count(_ observation: ATTObservation, _ pdu: RawSpan) {
        guard let opcode = pdu.first else { return }
        if let time = observation.time {
            checkOrder(of: time, observation)
            now = max(now ?? time, time)
        }
        let match = matcher.match(observation, pdu)
        let matched = match.matchedRequest
        if isFiltered, !selector.selects(observation, pdu, matched: matched) { return }

        let connection = list.find(observation.connection)
        let bytes = Self.valueBytes(pdu, opcode)
        total.add(opcode, frame: observation.frame, time: observation.time, valueBytes: bytes)
        connection?.counts.add(opcode, frame: observation.frame, time: observation.time, valueBytes: bytes)
        let handle = matched?.handle ?? RequestMatcher.handle(of: pdu, opcode)
        let attribute = handle.flatMap { find($0, opcode, observation) }
        attribute?.counts.add(opcode, frame: observation.frame, time: observation.time, valueBytes: bytes)
        if opcode == 0x12 || opcode == 0x16 || opcode == 0x52 || opcode == 0xD2 {
            attribute?.add(write: opcode, frame: observation.frame)
        }
        let latency = countLatency(match, observation, connection, attribute, opcode)
        timeline?.add(observation, pdu, handle: handle, latency: latency)
        if opcode == 0x01, pdu.byteCount >= 5 {
            let code = pdu.byte(4)
            total.add(error: code)
            connection?.counts.add(error: code)
            attribute?.counts.add(error: code)
            if let matched { countsByRequest[matched.opcode]?.add(error: code) }
        }
        if let connection { checkMTU(of: pdu, opcode, observation, connection) }
    }

    /// Counts a request or response. Returns the latency of a response.
    private func countLatency(
        _ match: RequestMatcher.Match, _ observation: ATTObservation, _ connection: ConnectionStatistics?,
        _ attribute: CharacteristicStatistics?, _ opcode: UInt8
    ) -> Duration? {
        switch match {
        case .request(let request, let unanswered):
            countsByRequest[request.opcode, default: TrafficCounts()].add(
                opcode, frame: observation.frame, time: observation.time, valueBytes: 0)
            guard let unanswered else { return nil }
            countUnanswered(unanswered, at: observation.time, observation.connection, opcode)
            connection?.overlappingRequests += 1
            if connection?.firstOverlapping == nil { connection?.firstOverlapping = observation.frame }
            return nil
        case .response(let request):
            var latency: Duration?
            if let sent = request.time, let received = observation.time { latency = received - sent }
            total.addResponse(after: latency)
            connection?.counts.addResponse(after: latency)
            attribute?.counts.addResponse(after: latency)
            countsByRequest[request.opcode, default: TrafficCounts()].add(
                opcode, frame: observation.frame, time: observation.time, valueBytes: 0)
            countsByRequest[request.opcode]?.addResponse(after: latency)
            return latency
        case .orphan:
            orphans += 1
            return nil
        case .other: return nil
        }
    }

    /// Compares a PDU with the connection's MTU, or stores a new MTU.
    private func checkMTU(
        of pdu: RawSpan, _ opcode: UInt8, _ observation: ATTObservation, _ connection: ConnectionStatistics
    ) {
        if opcode == 0x02 || opcode == 0x03 {
            let mtu = pdu.little16(at: 1).map(Int.init), isFromServer = opcode == 0x03
            if conversation.server(isFromServer, observation).isHost == isFromServer {
                connection.hostMTU = mtu
            } else {
                connection.remoteMTU = mtu
            }
        }
        let hasExchange = connection.hostMTU != nil || connection.remoteMTU != nil
        guard observation.bearer == 4, !connection.isText,
            let mtu = connection.mtu ?? (connection.sawBeginning && !hasExchange ? 23 : nil)
        else { return }
        if pdu.byteCount == mtu, Self.valueStart[Int(opcode)] > 0 { connection.fullPDUs += 1 }
        if pdu.byteCount > mtu {
            connection.oversizedPDUs += 1
            if connection.firstOversized == nil { connection.firstOversized = observation.frame }
        }
    }

    private func checkOrder(of time: Duration, _ observation: ATTObservation) {
        let adapter = observation.connection.adapter
        if let before = lastTimes[adapter], time < before {
            backwardSteps += 1
            if largestStep.map({ before - time > $0.by }) ?? true { largestStep = (observation.frame, before - time) }
        }
        if lastTimes[adapter] != nil || lastTimes.count < 1024 { lastTimes[adapter] = time }
    }

    private func endRequests(_ connection: Int) {
        for request in matcher.end(connection) {
            countUnanswered(request, at: now, list[connection]?.observed, 0)
        }
    }

    /// Counts a request without a response.
    /// - Parameter observed: `nil` for a connection that has ended.
    private func countUnanswered(
        _ request: RequestMatcher.Request, at time: Duration?, _ observed: ObservedConnection?, _ opcode: UInt8
    ) {
        var wait: Duration?
        if let sent = request.time, let time { wait = time - sent }
        total.addUnanswered(after: wait)
        countsByRequest[request.opcode]?.addUnanswered(after: wait)
        guard let observed else { return }
        list.find(observed)?.counts.addUnanswered(after: wait)
        if let handle = request.handle {
            let server = Self.server(observed, isHost: request.isServerHost)
            attributes[AttributeKey(server: server, handle: handle)]?.counts.addUnanswered(after: wait)
        }
    }

    private func find(_ handle: UInt16, _ opcode: UInt8, _ observation: ATTObservation) -> CharacteristicStatistics? {
        let server = conversation.server(opcode & 1 == 1, observation)
        let key = AttributeKey(server: Self.server(observation.connection, isHost: server.isHost), handle: handle)
        if let lastAttribute, lastAttribute.key == key {
            lastAttribute.value.update(server)
            return lastAttribute.value
        }
        guard let known = attributes[key] else {
            guard attributes.count < Self.characteristicLimit else {
                uncountedPDUs += 1
                return nil
            }
            let new = CharacteristicStatistics(handle: handle, server: server)
            attributes[key] = new
            lastAttribute = (key, new)
            return new
        }
        known.update(server)
        lastAttribute = (key, known)
        return known
    }

    private static func server(_ connection: ObservedConnection, isHost: Bool) -> UInt64 {
        if isHost { return UInt64(connection.adapter) | 1 << 49 }
        if let peer = connection.peer, peer.value != 0 { return peer.value | 1 << 48 }
        return UInt64(connection.id) | 1 << 50
    }

    /// `TrafficKind.valueStart` as a table, without the value in a Prepare Write Response, which repeats the request's.
    private static let valueStart: [Int] = (0...255).map { $0 == 0x17 ? 0 : TrafficKind.valueStart(UInt8($0)) }

    private static func valueBytes(_ pdu: RawSpan, _ opcode: UInt8) -> Int {
        let start = valueStart[Int(opcode)]
        return start > 0 ? max(0, pdu.byteCount - start) : 0
    }
}

/// Stores the clock readings of each bottle.
private final class ClockStore {
    private(set) var clocks: [(peer: BottlePeer, readings: ClockReadings)] = []
    private static let maximumClocks = 64

    func add(_ traffic: BottleTraffic, _ origin: TrafficOrigin) {
        let frame = origin.observation.frame, time = origin.observation.time
        switch traffic {
        case .message(let message):
            guard case .snapshot(let snapshot)? = try? BottleMessage(decoding: message), let clock = snapshot.clock
            else { return }
            change(origin) { $0.read(clock, frame: frame, time: time) }
        case .command(let command, _, _):
            switch command {
            case .clock(let clock): change(origin) { $0.set(clock, frame: frame, time: time) }
            case .settings(_, let clock, _): change(origin) { $0.set(clock, frame: frame, time: time) }
            default: break
            }
        case .records(let batch):
            // Find the latest record of a log by its six date bytes, which costs one comparison per record.
            var latest: (wall: UInt64, raw: [UInt8], source: RecordBatch.Source)?
            batch.forEachRecord { raw, source in
                let wall = UInt64(bigEndian: raw.loadUnaligned(as: UInt64.self)) >> 16
                guard raw[12] == 0, wall > latest?.wall ?? 0, wall >> 32 & 0xFF <= 12, wall >> 24 & 0xFF <= 31 else {
                    return
                }
                latest = (wall, [UInt8](raw), source)
            }
            guard let latest, let record = try? DrinkRecord(decoding: latest.raw, dialect: .calendar) else { return }
            change(origin) { $0.deliver(record, frame: latest.source.frame, time: latest.source.time) }
        case .malformed: break
        }
    }

    private func change(_ origin: TrafficOrigin, _ body: (inout ClockReadings) -> Void) {
        let peer = origin.server.peer
        if let index = clocks.firstIndex(where: { $0.peer === peer }) { return body(&clocks[index].readings) }
        guard clocks.count < Self.maximumClocks else { return }
        var readings = ClockReadings()
        body(&readings)
        clocks.append((peer, readings))
    }
}
