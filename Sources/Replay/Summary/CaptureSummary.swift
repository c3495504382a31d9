import Bluetooth
import BottleProtocol
import Captures

/// What a capture holds, for `waterh-replay info`.
package struct CaptureSummary {
    /// One connection of the capture.
    package struct Connection {
        /// The connection as the capture shows it.
        package var observed: ObservedConnection
        /// Number of the first record in which it shows.
        package var firstFrame: Int?
        /// When it began, since 1970, where the capture says.
        package var began: Duration?
        /// When it ended, since 1970, where the capture says.
        package var ended: Duration?
        /// HCI or LL error code of its end; `nil` where its end is not in the capture or gave none.
        package var reason: UInt8?
        /// Its end is in the capture.
        package var hasEnded = false
        /// Some of it was ciphertext.
        package var isEncrypted = false
        /// ATT PDUs that passed on it.
        package var pdus = 0
    }

    /// One bottle of the capture, with its drinks.
    package struct Bottle {
        /// Who it is.
        package var peer: BottlePeer
        /// Its drinks, each once.
        package var drinks = 0
        /// Their sum.
        package var millilitres = 0
        /// Those whose date cannot be right.
        package var suspects = 0
        /// Deliveries of drinks that were known already.
        package var duplicates = 0
        /// Commands that the host wrote to it.
        package var commands = 0
        /// Wall time of its first and last drink with a possible date.
        package var first: String? { firstOrder.map(Delivery.text) }
        /// Its latest drink's wall time in words; `nil` without any.
        package var last: String? { lastOrder.map(Delivery.text) }
        var firstOrder: Int?
        var lastOrder: Int?

        init(_ peer: BottlePeer) { self.peer = peer }
    }

    /// Somebody who advertised.
    package struct Advertiser {
        /// The name that it advertised.
        package var name: String?
        /// Advertisements of it.
        package var count = 0
    }

    /// As the file says of itself; set by the caller when reading is over.
    package var facts = CaptureFileFacts()
    /// What stopped the reading; `nil`: it was read to its end.
    package var trouble: String?
    /// Times of the first and the last record.
    package private(set) var firstTime: Duration?
    /// Time of the last record that has one, since 1970.
    package private(set) var lastTime: Duration?
    /// In order of first sight; at most `mostConnections`.
    package private(set) var connections: [Connection] = []
    /// Connections of the capture, also those without lines of their own.
    package private(set) var connectionCount = 0
    /// Further connections have no lines of their own.
    package static let mostConnections = 1000
    /// By address; the first `mostAdvertisers` of them.
    package private(set) var advertisers: [BluetoothAddress: Advertiser] = [:]
    /// Further advertisers are only counted.
    package static let mostAdvertisers = 4096
    /// How many PDUs of each opcode.
    package var pdus: [ATTOpcode: Int] {
        opcodes.indices.reduce(into: [:]) { counts, opcode in
            if opcodes[opcode] > 0 { counts[ATTOpcode(rawValue: UInt8(opcode))] = opcodes[opcode] }
        }
    }
    private var opcodes = [Int](repeating: 0, count: 256)
    /// Bytes that became no PDU, by the reason.
    package private(set) var drops: [DropReason: Int] = [:]
    /// Adapters (monitor formats) or interfaces (pcapng) that were met.
    package private(set) var adapters: Set<UInt32> = []
    /// Commands that went to bottles.
    package private(set) var commands = 0
    /// At most `mostBottles` of them.
    package private(set) var bottles: [Bottle] = []
    /// Bottles of the capture, also those without lines of their own.
    package private(set) var bottleCount = 0
    /// Further bottles have no lines of their own.
    package static let mostBottles = 4096
    /// What was counted of drinks.
    package private(set) var tally = DrinkReader.Tally()
    /// Everybody who was connected, with the attribute tables discovered.
    package private(set) var peers: [BottlePeer] = []

    private var gate: TrafficGate?
    private var places: [Int: Int] = [:]
    private var lastID = 0
    /// Where the connection stands that spoke last: mostly it speaks again.
    private var lastPlace: (id: Int, place: Int)?

    /// Reads a whole file. Trouble with the file ends up in `trouble`, after everything before it was counted.
    package init(_ file: inout CaptureFile, options: DrinkReader.Options) throws {
        var options = options
        options.isRaw = true
        if !options.filter.isEmpty { gate = TrafficGate(options.filter) }
        let found = BottleList()
        let reader = DrinkReader(options) { found.take($0) }
        file.onHead = { reader.learn($0) }
        let path = file.path
        reader.lookAhead = { Foresight(path) }
        var firstTime: Duration?
        var lastTime: Duration?
        do {
            drops = try file.forEachEvent { packet in
                guard let time = packet.time?.sinceEpoch else { return }
                reader.start(at: time)
                if firstTime == nil { firstTime = time }
                lastTime = time
            } _: { event, bytes in
                if gate != nil { gate?.start(at: firstTime) }
                take(event, bytes)
                try reader.receive(event, bytes)
            }
        } catch let error as CaptureError {
            trouble = error.description
        }
        facts = file.facts
        peers = reader.peers
        try reader.finishCapture()
        (self.firstTime, self.lastTime) = (firstTime, lastTime)
        tally = reader.tally
        commands = peers.reduce(0) { $0 + $1.commandCount }
        for peer in peers where peer.isBottle || peer.commandCount > 0 { found.take(peer, reader.holder(of: peer)) }
        bottles = found.bottles
        bottleCount = found.count
    }

    private mutating func take(_ event: ConversationEvent, _ bytes: RawSpan) {
        let isWanted = gate?.wants(event, bytes) ?? true
        switch event {
        case .att(let observation):
            guard !observation.isSynthetic, isWanted else { return }
            if let opcode = bytes.first { opcodes[Int(opcode)] += 1 }
            update(observation.connection) {
                $0.pdus += 1
                if $0.firstFrame == nil { ($0.firstFrame, $0.began) = (observation.frame, observation.time) }
                $0.ended = observation.time ?? $0.ended
            }
        case .connected(let connection): update(connection) { _ in }
        case .disconnected(let connection, let reason):
            update(connection) {
                $0.hasEnded = true
                $0.reason = reason
            }
        case .encrypted(let connection): update(connection) { $0.isEncrypted = true }
        case .dropped(let reason, _): drops[reason, default: 0] += 1
        case .advertised(let advertiser):
            guard advertisers[advertiser.address] != nil || advertisers.count < Self.mostAdvertisers else { return }
            advertisers[advertiser.address, default: Advertiser()].count += 1
            if let name = AdvertisingData.name(in: bytes) { advertisers[advertiser.address]?.name = name }
        }
    }

    private mutating func update(_ connection: ObservedConnection, _ change: (inout Connection) -> Void) {
        if let lastPlace, lastPlace.id == connection.id { return change(&connections[lastPlace.place]) }
        adapters.insert(connection.adapter)
        guard let place = places[connection.id] else {
            // Connections are numbered in the order of their first sight.
            guard connection.id > lastID || connections.count < Self.mostConnections else { return }
            lastID = max(lastID, connection.id)
            connectionCount += 1
            guard connections.count < Self.mostConnections else { return }
            places[connection.id] = connections.count
            var new = Connection(observed: connection)
            change(&new)
            connections.append(new)
            return
        }
        lastPlace = (connection.id, place)
        connections[place].observed = connection
        change(&connections[place])
    }
}

/// Who delivered what, in order of first sight: one entry a bottle, also where several peers without an address are
/// one.
private final class BottleList {
    private(set) var bottles: [CaptureSummary.Bottle] = []
    private(set) var count = 0
    private var places: [DrinkLedger.Account: Int] = [:]
    private var last: (account: DrinkLedger.Account, place: Int)?

    func take(_ delivery: borrowing Delivery) {
        if let last, last.account == delivery.account { return bottles[last.place].take(delivery) }
        guard let place = place(of: delivery.account, delivery.bottle) else { return }
        last = (delivery.account, place)
        bottles[place].take(delivery)
    }

    /// - Parameter account: `nil`: it delivered nothing.
    func take(_ peer: BottlePeer, _ account: DrinkLedger.Account?) {
        if let account {
            if let place = place(of: account, peer) { bottles[place].commands += peer.commandCount }
        } else {
            add(peer)
            if let last = bottles.indices.last, bottles[last].peer === peer {
                bottles[last].commands = peer.commandCount
            }
        }
    }

    private func place(of account: DrinkLedger.Account, _ peer: BottlePeer) -> Int? {
        if let known = places[account] { return known < 0 ? nil : known }
        places[account] = bottles.count < CaptureSummary.mostBottles ? bottles.count : -1
        add(peer)
        return places[account].flatMap { $0 < 0 ? nil : $0 }
    }

    private func add(_ peer: BottlePeer) {
        count += 1
        if bottles.count < CaptureSummary.mostBottles { bottles.append(CaptureSummary.Bottle(peer)) }
    }
}

extension CaptureSummary.Bottle {
    mutating func take(_ delivery: borrowing Delivery) {
        guard delivery.record.isDrink else { return }
        if delivery.isDuplicate {
            duplicates += 1
            return
        }
        drinks += 1
        if delivery.record.isSuspect {
            suspects += 1
            return
        }
        millilitres += delivery.record.amountMl
        guard let order = delivery.order else { return }
        firstOrder = min(firstOrder ?? order, order)
        lastOrder = max(lastOrder ?? order, order)
    }
}
