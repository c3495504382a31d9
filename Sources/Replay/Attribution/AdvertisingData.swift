/// AD structures of advertisements and scan responses: `length(1) type(1) data(length − 1)`*
/// (Core 5.4, Vol 3 Part C, 11; types in the Assigned Numbers).
enum AdvertisingData {
    /// The local name: complete (09) where it is there, else shortened (08).
    static func name(in data: RawSpan) -> String? {
        var shortened: String?
        var at = 0
        while at < data.byteCount {
            let length = Int(data.byte(at))
            guard length >= 1, at + 1 + length <= data.byteCount else { break }
            let type = data.byte(at + 1)
            if type == 0x08 || type == 0x09 {
                let name = String(decoding: data.extracting((at + 2)..<(at + 1 + length)).bytes(), as: UTF8.self)
                if type == 0x09 { return name }
                shortened = name
            }
            at += 1 + length
        }
        return shortened
    }
}
