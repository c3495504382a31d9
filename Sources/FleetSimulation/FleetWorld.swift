import FleetWire
import TrackerCore

/// Gateways, their bottles and some days that were never drunk, from a seed: what each gateway's own store comes to
/// know, and when.
///
/// A bottle has a person and a gateway at home; now and then another gateway hears its drinks as well, or instead. A
/// few drinks are corrected or taken out later, at one of those who know of them. Gateways are cut off for hours.
public struct FleetWorld: Sendable {
    /// What a gateway does and is told.
    public struct Gateway: Sendable {
        /// Its name in the fleet.
        public var name: String
        /// All that changes in its store, in the order of its sequence.
        public var changes: [Change]
        /// Hours since the beginning in which nobody hears it.
        public var cutOff: [Range<Int>]
    }

    /// A drink that comes, changes or goes.
    public struct Change: Sendable {
        /// Since the beginning: the store knows it from then on.
        public var hour: Int
        /// What its store comes to know.
        public var entry: FleetEntry
    }

    /// A person's day.
    public struct Total: Hashable, Sendable {
        /// Sum of the drinks that count.
        public var ml = 0
        /// How many of them there are.
        public var drinks = 0
    }

    /// In the order of their names.
    public var gateways: [Gateway]
    /// How many days were made up.
    public let days: Int
    /// Who drinks, whether anything of it is left or not.
    public let people: [String]

    /// 2026-03-01: the clocks of some zones change in the days after it.
    private static let firstDay = 20_513
    private static let zones = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Pacific/Auckland"]

    /// - Parameters:
    ///   - gateways: 1 and more; each has `bottles` at home.
    ///   - random: where all of it comes from; the same gives the same.
    public init(gateways: Int, bottles: Int, days: Int, using random: inout some RandomNumberGenerator) {
        self.days = days
        let start = Int64(Self.firstDay) * 86_400, end = start + Int64(days) * 86_400
        var told = [[Change]](repeating: [], count: gateways)
        var people: [String] = []
        for home in 0..<gateways {
            for bottle in 0..<bottles {
                let person = "person-\(home + 1)-\(bottle + 1)"
                people.append(person)
                let id = Self.zones.randomElement(using: &random) ?? "UTC"
                let calendar = DayCalendar(zone: (try? Zone(id)) ?? .utc)
                let address = Self.address(home * bottles + bottle)
                var at = start + Int64.random(in: 0..<14_400, using: &random)
                while at < end {
                    let ml = Int.random(in: 16...500, using: &random)
                    // The bottle's clock shows UTC.
                    let key = "\(address)|\(Zone.utc.wall(at: Instant(seconds: at)))|\(ml)"
                    let fact = FleetEntry.Fact(
                        at: Instant(seconds: at), zone: id, day: calendar.day(of: Instant(seconds: at)), ml: ml,
                        changed: Instant(seconds: at))
                    var hearers = [home]
                    if gateways > 1, Int.random(in: 0..<5, using: &random) == 0 {
                        let other = (home + Int.random(in: 1..<gateways, using: &random)) % gateways
                        hearers = Int.random(in: 0..<3, using: &random) == 0 ? [other] : [home, other]
                    }
                    func tell(_ hearer: Int, _ seconds: Int64, _ drink: FleetEntry.Fact?) {
                        told[hearer].append(
                            Change(
                                hour: min(days * 24 - 1, Int((seconds - start) / 3600)),
                                entry: FleetEntry(
                                    person: person, store: "store-\(hearer + 1)", place: 1, key: key, drink: drink)))
                    }
                    for hearer in hearers { tell(hearer, at + Int64.random(in: 0..<7200, using: &random), fact) }
                    if Int.random(in: 0..<12, using: &random) == 0, let hearer = hearers.randomElement(using: &random) {
                        let later = at + 7200 + Int64.random(in: 0..<200_000, using: &random)
                        var other = fact
                        other.changed = Instant(seconds: later)
                        switch Int.random(in: 0..<4, using: &random) {
                        case 0: tell(hearer, later, nil)
                        case 1:
                            other.isDeleted = true
                            tell(hearer, later, other)
                        default:
                            other.ml = Int.random(in: 1...500, using: &random)
                            tell(hearer, later, other)
                        }
                    }
                    at += Int64.random(in: 1200..<14_400, using: &random)
                }
            }
        }
        self.people = people
        self.gateways = told.enumerated().map { number, changes in
            // Stable: what comes later to know of a drink stays behind what came first.
            let sorted = changes.enumerated().sorted { ($0.element.hour, $0.offset) < ($1.element.hour, $1.offset) }
                .map(\.element)
            let placed = sorted.enumerated().map { index, change in
                var change = change
                change.entry.place = Int64(index + 1)
                return change
            }
            var cuts: [Range<Int>] = []
            for day in 0..<days where Int.random(in: 0..<3, using: &random) == 0 {
                let first = day * 24 + Int.random(in: 0..<24, using: &random)
                cuts.append(first..<(first + Int.random(in: 4...40, using: &random)))
            }
            return Gateway(name: "gateway-\(number + 1)", changes: placed, cutOff: cuts)
        }
    }

    /// The fold of every gateway's own store, made without any fleet: of what one store says of a drink the last
    /// counts; who took it out anywhere took it out; of what is left the newest counts.
    public var totals: [String: [LocalDay: Total]] {
        var drinks: [String: [String: [FleetEntry.Fact?]]] = [:]
        for gateway in gateways {
            var last: [String: FleetEntry] = [:]
            for change in gateway.changes { last[change.entry.key] = change.entry }
            for (key, entry) in last {
                drinks[entry.person ?? gateway.name, default: [:]][key, default: []].append(entry.drink)
            }
        }
        return drinks.mapValues { theirs in
            var days: [LocalDay: Total] = [:]
            for sides in theirs.values {
                let facts = sides.compactMap(\.self)
                guard facts.count == sides.count, !facts.contains(where: \.isDeleted),
                    let newest = facts.max(by: { $0.changed < $1.changed })
                else { continue }
                days[newest.day, default: Total()].ml += newest.ml
                days[newest.day, default: Total()].drinks += 1
            }
            return days
        }
    }

    /// Where a fleet says something else than the gateways' own stores; a sentence for each person and day.
    /// - Parameter fleet: what it says of a person's days; `nil` where it knows nobody of that name.
    public func differences(from fleet: (_ person: String) throws -> [(day: LocalDay, ml: Int, drinks: Int)]?) rethrows
        -> [String]
    {
        let totals = totals
        var found: [String] = []
        for person in people {
            let own = totals[person] ?? [:]
            var there: [LocalDay: Total] = [:]
            for day in try fleet(person) ?? [] { there[day.day] = Total(ml: day.ml, drinks: day.drinks) }
            for day in Set(own.keys).union(there.keys).sorted() where own[day] != there[day] {
                func words(_ total: Total?) -> String { "\(total?.ml ?? 0) ml in \(total?.drinks ?? 0) drinks" }
                found.append(
                    """
                    \(person) on \(day): \(words(there[day])) in the fleet, \(words(own[day])) in the gateways' \
                    own stores
                    """
                )
            }
        }
        return found
    }

    private static func address(_ number: Int) -> String {
        let bytes = [0xA4, 0xC1, 0x38, number >> 16 & 0xFF, number >> 8 & 0xFF, number & 0xFF]
        return bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined(separator: ":")
    }
}
