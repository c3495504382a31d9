/// A report of an LE Advertising Report or LE Extended Advertising Report event (Core 5.4, Vol 4 Part E, 7.7.65.2 and
/// 7.7.65.13).
struct AdvertisingReport {
    var address: BluetoothAddress
    /// Bit 0 is set for a random address. 0xFF is an anonymous advertisement.
    var addressType: UInt8
    /// The signal strength in dBm; 127 if unknown.
    var rssi: Int8
    var isScanResponse: Bool
    /// The range of the AD structures in the event.
    var data: Range<Int>

    /// Reads the complete reports of an LE meta event: subevent, count, then the reports.
    ///
    /// - Legacy: event type, address type, address(6), length, data, RSSI.
    /// - Extended: event type(2), address type, address(6), PHYs(2), set, power, RSSI, interval(2), direct address(7),
    ///   length, data.
    static func all(in event: RawSpan) -> [AdvertisingReport] {
        guard event.byteCount >= 2 else { return [] }
        let isExtended = event.u8(0) == 0x0D
        let headerLength = isExtended ? 24 : 9
        var reports: [AdvertisingReport] = []
        var offset = 2
        for _ in 0..<event.u8(1) {
            guard event.byteCount - offset >= headerLength else { break }
            let data = (offset + headerLength)..<(offset + headerLength + Int(event.u8(offset + headerLength - 1)))
            let end = isExtended ? data.upperBound : data.upperBound + 1
            guard end <= event.byteCount else { break }
            let type = offset + (isExtended ? 2 : 1)
            reports.append(
                AdvertisingReport(
                    address: event.address(type + 1), addressType: event.u8(type),
                    rssi: Int8(bitPattern: event.u8(isExtended ? offset + 13 : data.upperBound)),
                    isScanResponse: isExtended ? event.u8(offset) & 0x08 != 0 : event.u8(offset) == 4, data: data))
            offset = end
        }
        return reports
    }
}
