import Bluetooth
import BottleProtocol
import Captures

/// Everything that a picture of a capture shows, read in one go and in bounded memory.
package final class CapturePicture {
    /// A drink as the picture shows it.
    package struct Drink: Sendable {
        /// Local wall time of the bottle's clock, `2026-02-02T22:21:15`.
        package var at: String
        /// How much it was.
        package var millilitres: Int
        /// Its date cannot be right.
        package var isSuspect: Bool
        /// Number of the record that delivered it.
        package var frame: Int
        /// Who delivered it: address, name, or which connection.
        package var bottle: String
    }

    /// What was drunk on a day of the bottle's clock.
    package struct Day: Sendable {
        /// Drinks of that day, each once.
        package var drinks = 0
        /// Of drinks that are not suspect.
        package var millilitres = 0
    }

    /// What passed.
    package let statistics: CaptureStatistics
    /// As the file says of itself.
    package private(set) var facts = CaptureFileFacts()
    /// What stopped the reading; `nil`: it was read to its end.
    package private(set) var trouble: String?
    /// Packets delivered before it.
    package private(set) var packets = 0
    /// Times of the first and the last packet.
    package private(set) var firstTime: Duration?
    /// Time of the last record that has one, since 1970.
    package private(set) var lastTime: Duration?
    /// Each drink once, in the order of delivery: the first `mostDrinks`.
    package private(set) var drinks: [Drink] = []
    /// Further drinks are in no picture.
    package static let mostDrinks = 3000
    /// By date, `2026-02-02`: the first `mostDays` that came.
    package private(set) var days: [String: Day] = [:]
    /// Further days are in no picture.
    package static let mostDays = 1500
    /// What was counted of drinks.
    package private(set) var tally = DrinkReader.Tally()

    /// Reads a whole file. Trouble with its bytes ends up in `trouble`, after everything before it was counted.
    /// - Throws: `CaptureFileError` where it cannot be opened or read.
    package init(_ file: inout CaptureFile, options: DrinkReader.Options) throws {
        let statistics = CaptureStatistics(options.filter, given: options.given, timeline: Timeline())
        self.statistics = statistics
        let collector = DrinkCollector()
        let reader = DrinkReader(options) { collector.take($0) }
        let path = file.path
        file.onHead = {
            statistics.learn($0)
            reader.learn($0)
        }
        statistics.lookAhead(in: path)
        reader.lookAhead = { Foresight(path) }
        var times: (first: Duration?, last: Duration?), packets = 0
        do {
            try file.forEachEvent { packet in
                packets += 1
                guard let time = packet.time?.sinceEpoch else { return }
                if times.first == nil { times.first = time }
                times.last = time
                statistics.start(at: time)
                reader.start(at: time)
            } _: { event, bytes in
                try statistics.receive(event, bytes)
                try reader.receive(event, bytes)
            }
        } catch let error as CaptureError {
            trouble = error.description
        }
        facts = file.facts
        statistics.finish()
        try reader.finishCapture()
        (firstTime, lastTime) = times
        (self.packets, tally) = (packets, reader.tally)
        (drinks, days) = (collector.drinks, collector.days)
    }
}

private final class DrinkCollector {
    var drinks: [CapturePicture.Drink] = []
    var days: [String: CapturePicture.Day] = [:]

    func take(_ delivery: borrowing Delivery) {
        guard delivery.record.isDrink, !delivery.isDuplicate, let at = delivery.at else { return }
        let date = String(at.prefix(10))
        if days[date] != nil || days.count < CapturePicture.mostDays {
            days[date, default: CapturePicture.Day()].drinks += 1
            if !delivery.record.isSuspect { days[date]?.millilitres += delivery.record.amountMl }
        }
        guard drinks.count < CapturePicture.mostDrinks else { return }
        drinks.append(
            CapturePicture.Drink(
                at: at, millilitres: delivery.record.amountMl, isSuspect: delivery.record.isSuspect,
                frame: delivery.frame, bottle: delivery.bottle.label))
    }
}
