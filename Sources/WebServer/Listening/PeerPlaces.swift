import NIOCore

/// How many connections other machines may have, all together and each of them, so that none of them can take every
/// place. This machine's own programs, and what comes through a socket of the file system, are not counted: the rest of
/// the places is theirs. Pure.
package struct PeerPlaces: Sendable {
    private let all: Int
    private let each: Int
    private var open: [String: Int] = [:]
    private var count = 0

    /// - Parameters:
    ///   - all: so many of all other machines together.
    ///   - each: so many of one of them.
    package init(all: Int, each: Int) { (self.all, self.each) = (all, each) }

    /// The same shares of fewer places.
    func sharing(_ places: Int, of all: Int) -> PeerPlaces {
        guard places < all, all > 0 else { return self }
        return PeerPlaces(all: max(1, self.all * places / all), each: max(1, each * places / all))
    }

    /// - Parameter peer: `nil`: a program of this machine.
    /// - Returns: whether there is a place; then it is taken.
    mutating func enter(_ peer: String?) -> Bool {
        guard let peer else { return true }
        guard count < all, open[peer, default: 0] < each else { return false }
        open[peer, default: 0] += 1
        count += 1
        return true
    }

    /// A place that was taken is free again.
    mutating func leave(_ peer: String?) {
        guard let peer, let places = open[peer] else { return }
        open[peer] = places > 1 ? places - 1 : nil
        count -= 1
    }

    /// By what another machine is counted: its IPv4 address, or the first 64 bits of its IPv6 address, since whoever
    /// has one of those has all of its network.
    /// - Returns: `nil` for this machine itself.
    package static func name(of address: SocketAddress) -> String? {
        switch address {
        case .v4(let address): name(withUnsafeBytes(of: address.address.sin_addr) { Array($0) }[...])
        case .v6(let address): name(withUnsafeBytes(of: address.address.sin6_addr) { Array($0) }[...])
        case .unixDomainSocket: nil
        }
    }

    private static func name(_ bytes: ArraySlice<UInt8>) -> String? {
        if bytes.count == 4 { return bytes.first == 127 ? nil : bytes.map(String.init).joined(separator: ".") }
        let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]
        if bytes.starts(with: mapped) { return name(bytes.dropFirst(12)) }
        if bytes.dropLast().allSatisfy({ $0 == 0 }), bytes.last == 1 { return nil }
        return bytes.prefix(8).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
