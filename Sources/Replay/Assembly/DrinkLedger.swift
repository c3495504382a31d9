import Bluetooth
import BottleProtocol

/// What every bottle drank, over all captures read.
///
/// A bottle is its address. One whose address no capture shows, or that has a private one, is known by its log: a
/// record that somebody has already is theirs (`merge`). Of many bottles with few drinks nothing is kept but the
/// drinks, in one block for all.
final class DrinkLedger {
    /// A bottle's number here.
    struct Account: Hashable {
        fileprivate var index: Int32
    }

    private struct Entry {
        /// Drinks of the first few; those are in `few`.
        var count: UInt8 = 0
        /// Known by an address that stays.
        var isSure: Bool
        /// Known for a bottle by more than the shape of its frames.
        var isTrusted = false
        /// Not a bottle.
        var isRejected = false
        /// Whose account it turned out to be.
        var same: Int32?
        var drinks: UnsafeMutablePointer<DrinkIndex>?
        var address: BluetoothAddress?
        var lastSeen = Sighting()
    }

    /// Where a bottle last delivered something.
    struct Sighting {
        var capture: Int32 = -1
        var adapter: UInt32 = 0
        var connection = 0
        var frame = 0
    }

    private var entries: [Entry] = []
    private var byAddress: [BluetoothAddress: Int32] = [:]
    /// The first drinks of everybody, and entries that are no drinks: a mark for those, account (31 bits), record (64
    /// bits).
    private var few = FlatSet<UInt128>()
    private static let fewDrinks = 8
    private static let bookkeeping = UInt128(1) << 127
    /// Who had a record first; only while there is somebody who is not known by an address, and somebody else.
    private var owners: [UInt64: Int32]?
    private var unsure = 0
    /// Two accounts became one since `trust` was asked last.
    private var hasNews = false
    /// How many accounts and records were looked at to find out whose a log is: for tests.
    private(set) var steps = 0

    init() {}

    deinit {
        for entry in entries {
            entry.drinks?.deinitialize(count: 1)
            entry.drinks?.deallocate()
        }
    }

    // MARK: accounts

    /// - Parameter isSure: the address is one that stays.
    func account(of address: BluetoothAddress?, isSure: Bool) -> Account {
        if let address, let known = byAddress[address] { return Account(index: known) }
        let index = Int32(entries.count)
        entries.append(Entry(isSure: isSure && address != nil, address: address))
        if let address { byAddress[address] = index }
        if !isSure || address == nil { unsure += 1 }
        if owners == nil, unsure > 0, entries.count > 1 { learnOwners() }
        return Account(index: index)
    }

    /// Who it is, by now.
    func holder(of account: Account) -> Account {
        var index = account.index
        while let same = entries[Int(index)].same { index = same }
        return Account(index: index)
    }

    func address(of account: Account) -> BluetoothAddress? { entries[Int(holder(of: account).index)].address }
    func isTrusted(_ account: Account) -> Bool { entries[Int(account.index)].isTrusted }

    /// - Returns: whether somebody is trusted now who was not before.
    func trust(_ account: Account) -> Bool {
        defer { hasNews = false }
        guard entries[Int(account.index)].isTrusted else {
            entries[Int(account.index)].isTrusted = true
            return true
        }
        return hasNews
    }

    /// It only looked like a bottle: a log that has the same records is somebody else's.
    func reject(_ account: Account) { entries[Int(account.index)].isRejected = true }

    func see(_ account: Account, _ sighting: Sighting) { entries[Int(account.index)].lastSeen = sighting }

    /// Somebody else who has records of this log, and is perhaps the same bottle.
    ///
    /// - Parameters:
    ///   - records: 13 bytes each.
    ///   - mask: the bytes of the amount that count.
    ///   - isPossible: whether it can be the one who was last seen so.
    func knower(of records: [UInt8], mask: UInt64, besides account: Account, _ isPossible: (Sighting) -> Bool)
        -> Account?
    {
        guard let owners else { return nil }
        let mine = entries[Int(account.index)]
        var all: Int32?
        var areAllKnown = true
        return records.withUnsafeBytes { buffer -> Account? in
            var at = 0
            while at + DrinkRecord.size <= buffer.count {
                defer { at += DrinkRecord.size }
                guard buffer[at + 12] == 0 else { continue }
                steps += 1
                let head = UInt64(bigEndian: buffer.loadUnaligned(fromByteOffset: at, as: UInt64.self))
                let key = head & (0xFFFF_FFFF_FFFF_0000 | mask)
                guard let owner = owners[key].map({ holder(of: Account(index: $0)).index }), owner != account.index,
                    !entries[Int(owner)].isRejected, !(mine.isSure && entries[Int(owner)].isSure),
                    isPossible(entries[Int(owner)].lastSeen)
                else {
                    areAllKnown = false
                    continue
                }
                // After a loss of power every bottle's clock says the same: such a date alone tells nobody.
                if Self.isPlausible(head) { return Account(index: owner) }
                if let all, all != owner { areAllKnown = false }
                all = owner
            }
            return areAllKnown ? all.map { Account(index: $0) } : nil
        }
    }

    private static func isPlausible(_ head: UInt64) -> Bool {
        let year = head >> 56, month = head >> 48 & 0xFF, day = head >> 40 & 0xFF
        return (15...99).contains(year) && (1...12).contains(month) && (1...31).contains(day)
    }

    /// Two accounts are one bottle's.
    /// - Returns: whose name it goes by from here on.
    func merge(_ one: Account, _ other: Account) -> Account {
        let isOnesName =
            entries[Int(one.index)].isSure || (!entries[Int(other.index)].isSure && one.index < other.index)
        let (kept, given) = isOnesName ? (one, other) : (other, one)
        entries[Int(given.index)].same = kept.index
        hasNews = true
        if entries[Int(given.index)].isTrusted { entries[Int(kept.index)].isTrusted = true }
        return kept
    }

    private func learnOwners() {
        var owners: [UInt64: Int32] = [:]
        few.forEach {
            if $0 & Self.bookkeeping == 0 {
                owners[UInt64(truncatingIfNeeded: $0)] = Int32(truncatingIfNeeded: $0 >> 64 & 0x7FFF_FFFF)
            }
        }
        for (index, entry) in entries.enumerated() {
            entry.drinks?.pointee.forEach { key in if owners[key] == nil { owners[key] = Int32(index) } }
        }
        self.owners = owners
    }

    // MARK: drinks

    /// Where an account's drinks are, once it has more than a few.
    @inline(__always)
    func drinks(of account: Account) -> UnsafeMutablePointer<DrinkIndex>? { entries[Int(account.index)].drinks }

    /// Remembers a drink that the account's index does not know, or of an account without one; false when it was there
    /// before.
    func insert(_ account: Account, wall: UInt64, amount: UInt16) -> Bool {
        let key = wall << 16 | UInt64(amount)
        let place = Int(account.index)
        let wide = UInt128(UInt32(bitPattern: account.index)) << 64 | UInt128(key)
        if few.contains(wide) { return false }
        // Nobody is in doubt, and the account's index has it already: the usual case of a large capture.
        if owners == nil, entries[place].drinks != nil { return true }
        if let owner = owners?[key], owner != account.index, holder(of: Account(index: owner)) == account {
            return false
        }
        if entries[place].drinks == nil {
            if entries[place].count < Self.fewDrinks {
                entries[place].count += 1
                _ = few.insert(wide)
            } else {
                entries[place].drinks = Self.makeIndex()
                _ = entries[place].drinks?.pointee.insert(wall: wall, amount: amount)
            }
        }
        if owners != nil, owners?[key].map({ entries[Int($0)].isRejected }) ?? true { owners?[key] = account.index }
        return true
    }

    /// Remembers an entry that is no drink; false when it was there before.
    func insertBookkeeping(_ account: Account, wall: UInt64, amount: UInt16) -> Bool {
        few.insert(
            Self.bookkeeping | UInt128(UInt32(bitPattern: account.index)) << 64 | UInt128(wall << 16 | UInt64(amount)))
    }

    private static func makeIndex() -> UnsafeMutablePointer<DrinkIndex> {
        let index = UnsafeMutablePointer<DrinkIndex>.allocate(capacity: 1)
        index.initialize(to: DrinkIndex())
        return index
    }
}
