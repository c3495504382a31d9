package import Bluetooth
import BottleProtocol
package import Captures

/// The content of a capture for `waterh-replay info` and `report`, read in one pass and in bounded memory.
package final class CaptureContent {
    package struct Bottle {
        package let peer: BottlePeer
        package private(set) var drinks = 0
        package private(set) var millilitres = 0
        package private(set) var suspects = 0
        private var firstTime: Int?
        private var lastTime: Int?
        /// The wall times of the bottle's first and last drink with a plausible date.
        package var first: String? { firstTime.map(Delivery.text) }
        package var last: String? { lastTime.map(Delivery.text) }

        fileprivate init(_ peer: BottlePeer) { self.peer = peer }

        fileprivate mutating func add(_ delivery: borrowing Delivery) {
            drinks += 1
            guard !delivery.record.isSuspect else { return suspects += 1 }
            millilitres += delivery.record.amountMl
            guard let time = delivery.packedTime else { return }
            firstTime = min(firstTime ?? time, time)
            lastTime = max(lastTime ?? time, time)
        }
    }

    package struct Drink: Sendable {
        /// Local wall time of the bottle's clock, `2026-02-02T22:21:15`.
        package var at: String
        package var millilitres: Int
        package var isSuspect: Bool
        /// The number of the record with the last byte of the drink.
        package var frame: Int
        package var bottle: String
    }

    /// The drinks of a day of the bottle's clock.
    package struct Day: Sendable {
        package var drinks = 0
        /// The sum of the amounts without suspect drinks.
        package var millilitres = 0
    }

    package struct Advertiser {
        package var name: String?
        package var count = 0
    }

    package let statistics: CaptureStatistics
    /// The connections with traffic, or whose start, end or encryption is in the capture; at most 1,000.
    package var connections: [ConnectionStatistics] {
        statistics.connections.filter { $0.counts.pdus > 0 || $0.sawBeginning || $0.hasEnded || $0.isEncrypted }
    }
    package private(set) var info = CaptureFileInfo()
    package private(set) var readingError: String?
    package private(set) var packets = 0
    /// The times of the first and the last packet, since 1970.
    package private(set) var firstTime: Duration?
    package private(set) var lastTime: Duration?
    /// The advertisers by address; at most 4,096.
    package private(set) var advertisers: [BluetoothAddress: Advertiser] = [:]
    /// All connected peers, with their discovered attribute tables.
    package private(set) var peers: [BottlePeer] = []
    /// The bottles in order of first connection; at most `maximumBottles`.
    package private(set) var bottles: [Bottle] = []
    /// The number of bottles, including those beyond `maximumBottles`.
    package private(set) var bottleCount = 0
    private static let maximumBottles = 4096
    /// The first 3,000 distinct drinks, in the order of delivery.
    package private(set) var drinks: [Drink] = []
    /// The first 1,500 days by date, `2026-02-02`.
    package private(set) var days: [String: Day] = [:]
    package private(set) var tally = DrinkReader.Tally()

    /// Reads a whole file. An error in its bytes sets `readingError`; the data before the error is kept.
    /// - Parameter timeline: receives each counted PDU.
    /// - Throws: `CaptureFileError` if it cannot be opened or read.
    package init(_ file: inout CaptureFile, options: DrinkReader.Options, timeline: Timeline? = nil) throws {
        statistics = CaptureStatistics(options.filter, handles: options.handles, timeline: timeline)
        var bottles: [ObjectIdentifier: Bottle] = [:], drinks: [Drink] = [], days: [Int: Day] = [:]
        let reader = DrinkReader(options) { delivery in
            bottles[ObjectIdentifier(delivery.bottle), default: Bottle(delivery.bottle)].add(delivery)
            guard let time = delivery.packedTime else { return }
            let amount = delivery.record.amountMl, isSuspect = delivery.record.isSuspect
            let day = time >> Delivery.timeBits
            if days[day] != nil || days.count < 1500 {
                days[day, default: Day()].drinks += 1
                days[day]?.millilitres += isSuspect ? 0 : amount
            }
            guard drinks.count < 3000 else { return }
            drinks.append(
                Drink(
                    at: Delivery.text(time), millilitres: amount, isSuspect: isSuspect, frame: delivery.frame,
                    bottle: delivery.bottle.label))
        }
        var times: (first: Duration?, last: Duration?), packets = 0
        file.onHeader = { [statistics] info in
            statistics.addNames(from: info)
            reader.addNames(from: info)
        }
        readingError = try file.readEvents { packet in
            packets += 1
            times = (times.first ?? packet.time, packet.time ?? times.last)
            statistics.start(at: packet.time)
            reader.start(at: packet.time)
        } _: { event, bytes in
            if case .advertised(let advertiser) = event { count(advertiser, bytes) }
            try statistics.receive(event, bytes)
            try reader.receive(event, bytes)
        }?.description
        (info, self.packets) = (file.info, packets)
        (firstTime, lastTime) = times
        statistics.finish()
        // At the end of the capture, peers without evidence for a bottle are dropped.
        peers = reader.peers
        try reader.finishCapture()
        (tally, self.drinks) = (reader.tally, drinks)
        for (day, sum) in days { self.days[Delivery.date(day)] = sum }
        let known = peers.filter { $0.isBottle || $0.commandCount > 0 || bottles[ObjectIdentifier($0)] != nil }
        bottleCount = known.count
        self.bottles = known.prefix(Self.maximumBottles).map { bottles[ObjectIdentifier($0)] ?? Bottle($0) }
    }

    private func count(_ advertiser: ObservedAdvertiser, _ data: RawSpan) {
        guard advertisers[advertiser.address] != nil || advertisers.count < 4096 else { return }
        advertisers[advertiser.address, default: Advertiser()].count += 1
        if let name = data.advertisedName { advertisers[advertiser.address]?.name = name }
    }
}
